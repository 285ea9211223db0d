import { DecodeError } from '../../lib/errors.ts'
import { isHex, normalizeHex, quantityToBigInt, quantityToNumber } from '../../lib/hex.ts'
import type { ExecutionPayload, PayloadEnvelope } from '../protocol/types.ts'
import { asArray, asObject, rawTransactionFromJson } from './rawTransaction.ts'

/** Storage root of an account without storage, and root of an empty list: keccak256(rlp('')). */
const EMPTY_TRIE_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/**
 * The execution payload of a block as `eth_getBlockByNumber(…, true)` returns it. `isthmus`: whether the block's
 * withdrawalsRoot is the message passer's storage root, which the payload then carries (specs: isthmus/exec-engine).
 */
export function payloadFromRpcBlock(json: unknown, isIsthmus: (timestamp: number) => boolean): PayloadEnvelope {
  const block = asObject(json, 'block')
  const timestamp = quantityToNumber(block.timestamp, 'block timestamp')
  const extraData = block.extraData
  if (!isHex(extraData)) throw new DecodeError('block extraData: expected hex')
  const payload: ExecutionPayload = {
    parentHash: normalizeHex(block.parentHash, 32, 'block parentHash'),
    feeRecipient: normalizeHex(block.miner, 20, 'block miner'),
    stateRoot: normalizeHex(block.stateRoot, 32, 'block stateRoot'),
    receiptsRoot: normalizeHex(block.receiptsRoot, 32, 'block receiptsRoot'),
    logsBloom: normalizeHex(block.logsBloom, 256, 'block logsBloom'),
    prevRandao: normalizeHex(block.mixHash, 32, 'block mixHash'),
    blockNumber: quantityToNumber(block.number, 'block number'),
    gasLimit: quantityToBigInt(block.gasLimit, 'block gasLimit'),
    gasUsed: quantityToBigInt(block.gasUsed, 'block gasUsed'),
    timestamp,
    extraData: normalizeHex(extraData, extraData.length / 2 - 1, 'block extraData'),
    baseFeePerGas: quantityToBigInt(block.baseFeePerGas, 'block baseFeePerGas'),
    blockHash: normalizeHex(block.hash, 32, 'block hash'),
    transactions: asArray(block.transactions, 'block transactions').map(rawTransactionFromJson),
  }
  if (block.withdrawalsRoot !== undefined && block.withdrawalsRoot !== null) {
    payload.withdrawals = []
    const root = normalizeHex(block.withdrawalsRoot, 32, 'block withdrawalsRoot')
    if (isIsthmus(timestamp)) payload.withdrawalsRoot = root
    else if (root !== EMPTY_TRIE_ROOT) throw new DecodeError(`block ${payload.blockNumber} has withdrawals`)
  }
  if (block.blobGasUsed !== undefined && block.blobGasUsed !== null) {
    payload.blobGasUsed = quantityToBigInt(block.blobGasUsed, 'block blobGasUsed')
  }
  if (block.excessBlobGas !== undefined && block.excessBlobGas !== null) {
    payload.excessBlobGas = quantityToBigInt(block.excessBlobGas, 'block excessBlobGas')
  }
  const envelope: PayloadEnvelope = { payload }
  if (block.parentBeaconBlockRoot !== undefined && block.parentBeaconBlockRoot !== null) {
    envelope.parentBeaconBlockRoot = normalizeHex(block.parentBeaconBlockRoot, 32, 'block parentBeaconBlockRoot')
  }
  return envelope
}
