import { DecodeError } from '../../../lib/errors.ts'
import { toHex } from '../../../lib/hex.ts'
import { JsonObjectReader } from '../../../lib/jsonReader.ts'
import { EMPTY_TRIE_ROOT } from '../constants.ts'
import { transactionFromJson } from '../transaction/json.ts'
import type { ExecutionPayload, PayloadEnvelope } from '../types.ts'

/**
 * Converts the result of `eth_getBlockByNumber(…, true)` to an execution payload. `isIsthmus` returns whether
 * withdrawalsRoot is the message passer's storage root, which the payload then contains (specs: isthmus/exec-engine).
 */
export function payloadFromRpcBlock(json: unknown, isIsthmus: (timestamp: number) => boolean): PayloadEnvelope {
  const block = new JsonObjectReader(json, 'block')
  const timestamp = block.quantityNumber('timestamp')
  const payload: ExecutionPayload = {
    parentHash: block.hex('parentHash', 32),
    feeRecipient: block.hex('miner', 20),
    stateRoot: block.hex('stateRoot', 32),
    receiptsRoot: block.hex('receiptsRoot', 32),
    logsBloom: block.hex('logsBloom', 256),
    prevRandao: block.hex('mixHash', 32),
    blockNumber: block.quantityNumber('number'),
    gasLimit: block.quantity('gasLimit'),
    gasUsed: block.quantity('gasUsed'),
    timestamp,
    extraData: toHex(block.bytes('extraData')),
    baseFeePerGas: block.quantity('baseFeePerGas'),
    blockHash: block.hex('hash', 32),
    transactions: block.array('transactions').map(transactionFromJson),
  }
  if (block.has('withdrawalsRoot')) {
    payload.withdrawals = []
    const root = block.hex('withdrawalsRoot', 32)
    if (isIsthmus(timestamp)) payload.withdrawalsRoot = root
    else if (root !== EMPTY_TRIE_ROOT) throw new DecodeError(`block ${payload.blockNumber} has withdrawals`)
  }
  if (block.has('blobGasUsed')) {
    payload.blobGasUsed = block.quantity('blobGasUsed')
  }
  if (block.has('excessBlobGas')) {
    payload.excessBlobGas = block.quantity('excessBlobGas')
  }
  const envelope: PayloadEnvelope = { payload }
  if (block.has('parentBeaconBlockRoot')) {
    envelope.parentBeaconBlockRoot = block.hex('parentBeaconBlockRoot', 32)
  }
  return envelope
}
