import type { ExecutionPayload, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { BlockHeader } from '../primitives/block.ts'

/**
 * The payload of a sealed header and the raw transactions of its block. Fields of later forks are set if the header has
 * them. Before Isthmus the withdrawals root is that of an empty list, and no field of a payload.
 */
export function envelopeOfHeader(header: BlockHeader, transactions: Uint8Array[]): PayloadEnvelope {
  const payload: ExecutionPayload = {
    parentHash: header.parentHash,
    feeRecipient: header.coinbase,
    stateRoot: header.stateRoot,
    receiptsRoot: header.receiptsRoot,
    logsBloom: header.logsBloom,
    prevRandao: header.mixHash,
    blockNumber: header.number,
    gasLimit: header.gasLimit,
    gasUsed: header.gasUsed,
    timestamp: header.timestamp,
    extraData: header.extraData,
    baseFeePerGas: header.baseFeePerGas,
    blockHash: header.hash,
    transactions,
  }
  if (header.withdrawalsRoot !== undefined) payload.withdrawals = []
  if (header.blobGasUsed !== undefined) payload.blobGasUsed = header.blobGasUsed
  if (header.excessBlobGas !== undefined) payload.excessBlobGas = header.excessBlobGas
  if (header.requestsHash !== undefined && header.withdrawalsRoot !== undefined) {
    payload.withdrawalsRoot = header.withdrawalsRoot
  }
  const { parentBeaconBlockRoot } = header
  return { payload, ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }) }
}
