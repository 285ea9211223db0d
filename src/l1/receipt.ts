import { concatBytes } from '../lib/bytes.ts'
import { DecodeError } from '../lib/errors.ts'
import { type Hex, toHex } from '../lib/hex.ts'
import { JsonObjectReader, jsonBytes } from '../lib/jsonReader.ts'
import { decodeRlp, encodeRlp, type RlpInput, rlpBytes, rlpList } from '../lib/rlp.ts'
import { DEPOSIT_TX_TYPE } from '../rollup/protocol/index.ts'
import type { L1Log, L1Receipt } from '../rollup/protocol/types.ts'

/** A receipt, with the fields that bind it to its block. */
export interface ParsedReceipt {
  receipt: L1Receipt
  /** The encoding in the receipts trie. */
  encoded: Uint8Array
  /** Missing in raw receipts. */
  blockHash?: Hex
  transactionIndex?: number
}

/** Parses a receipt in the standard JSON form. Throws DecodeError. */
export function parseReceipt(json: unknown): ParsedReceipt {
  const object = new JsonObjectReader(json, 'receipt')
  const logs = object.array('logs').map(parseLog)
  const status = object.optionalQuantity('status')
  return {
    receipt: {
      transactionHash: object.hex('transactionHash', 32),
      status: status === 1n,
      logs: logs.map((log) => log.log),
    },
    encoded: encodeReceipt(
      object,
      status,
      logs.map((log) => log.fields),
    ),
    blockHash: object.hex('blockHash', 32),
    transactionIndex: object.quantityNumber('transactionIndex'),
  }
}

function encodeReceipt(object: JsonObjectReader, status: bigint | undefined, logs: RlpInput[]): Uint8Array {
  const type = object.has('type') ? object.quantityNumber('type') : 0
  const fields: RlpInput[] = [
    // Before Byzantium the first field is the state root (EIP-658).
    status ?? object.bytes('root', 32),
    object.quantity('cumulativeGasUsed'),
    object.bytes('logsBloom', 256),
    logs,
  ]
  // If L1 is itself an OP Stack chain: deposit receipts contain their nonce, and since Canyon a version.
  if (type === DEPOSIT_TX_TYPE && object.has('depositNonce') && object.has('depositReceiptVersion')) {
    fields.push(object.quantity('depositNonce'), object.quantity('depositReceiptVersion'))
  }
  const body = encodeRlp(fields)
  return type === 0 ? body : concatBytes(Uint8Array.of(type), body)
}

function parseLog(json: unknown): { log: L1Log; fields: RlpInput } {
  const object = new JsonObjectReader(json, 'log')
  const address = object.bytes('address', 20)
  const topics = object.array('topics').map((topic) => jsonBytes(topic, 'log topic', 32))
  const data = object.bytes('data')
  return {
    log: { address: toHex(address), topics: topics.map(toHex), data, logIndex: object.quantityNumber('logIndex') },
    fields: [address, topics, data],
  }
}

/**
 * Parses one receipt of `debug_getRawReceipts`, for the transaction `transactionHash`. Log indices begin at
 * `firstLogIndex`.
 */
export function parseRawReceipt(encoded: Uint8Array, transactionHash: Hex, firstLogIndex: number): ParsedReceipt {
  const typed = (encoded[0] ?? 0xff) < 0xc0
  const fields = rlpList(decodeRlp(typed ? encoded.subarray(1) : encoded), 'raw receipt')
  if (fields.length < 4) throw new DecodeError(`raw receipt: ${fields.length} members`)
  const status = rlpBytes(fields[0], 'raw receipt status')
  const logs = rlpList(fields[3], 'raw receipt logs').map((item, index): L1Log => {
    const [address, topics, data] = rlpList(item, 'raw log', 3)
    return {
      address: toHex(rlpBytes(address, 'raw log address', 20)),
      topics: rlpList(topics, 'raw log topics').map((topic) => toHex(rlpBytes(topic, 'raw log topic', 32))),
      data: rlpBytes(data, 'raw log data'),
      logIndex: firstLogIndex + index,
    }
  })
  return { receipt: { transactionHash, status: status.length === 1 && status[0] === 1, logs }, encoded }
}
