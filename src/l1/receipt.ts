import { concatBytes } from '../lib/bytes.ts'
import { DecodeError } from '../lib/errors.ts'
import { fromHex, type Hex, normalizeHex, quantityToBigInt, quantityToNumber, toHex } from '../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpInput, rlpBytes, rlpList } from '../lib/rlp.ts'
import type { L1Log, L1Receipt } from '../rollup/protocol/types.ts'
import { asArray, asHexText, asObject, isPresent, type JsonObject } from './json.ts'

/** A receipt with what ties it to its block. */
export interface ParsedReceipt {
  receipt: L1Receipt
  /** As the receipts trie holds it. */
  encoded: Uint8Array
  /** Absent in raw receipts, which carry no such member. */
  blockHash?: Hex
  transactionIndex?: number
}

const DEPOSIT_TYPE = 0x7e

/** Reads a receipt of the standard JSON form. Throws DecodeError. */
export function parseReceipt(json: unknown): ParsedReceipt {
  const object = asObject(json, 'receipt')
  const logs = asArray(object.logs, 'receipt logs').map(parseLog)
  const status = isPresent(object.status) ? quantityToBigInt(object.status, 'receipt status') : undefined
  return {
    receipt: {
      transactionHash: normalizeHex(object.transactionHash, 32, 'receipt transaction hash'),
      status: status === 1n,
      logs: logs.map((log) => log.log),
    },
    encoded: encodeReceipt(
      object,
      status,
      logs.map((log) => log.fields),
    ),
    blockHash: normalizeHex(object.blockHash, 32, 'receipt block hash'),
    transactionIndex: quantityToNumber(object.transactionIndex, 'receipt transaction index'),
  }
}

function encodeReceipt(object: JsonObject, status: bigint | undefined, logs: RlpInput[]): Uint8Array {
  const type = isPresent(object.type) ? quantityToNumber(object.type, 'receipt type') : 0
  const fields: RlpInput[] = [
    // Before Byzantium the first member is the state root (EIP-658).
    status ?? fromHex(asHexText(object.root, 'receipt root'), 32, 'receipt root'),
    quantityToBigInt(object.cumulativeGasUsed, 'cumulative gas'),
    fromHex(asHexText(object.logsBloom, 'receipt bloom'), 256, 'receipt bloom'),
    logs,
  ]
  // An OP Stack chain as L1: deposit receipts carry their nonce, and from Canyon on a version.
  if (type === DEPOSIT_TYPE && isPresent(object.depositNonce) && isPresent(object.depositReceiptVersion)) {
    fields.push(quantityToBigInt(object.depositNonce), quantityToBigInt(object.depositReceiptVersion))
  }
  const body = encodeRlp(fields)
  return type === 0 ? body : concatBytes(Uint8Array.of(type), body)
}

function parseLog(json: unknown): { log: L1Log; fields: RlpInput } {
  const object = asObject(json, 'log')
  const address = fromHex(asHexText(object.address, 'log address'), 20, 'log address')
  const topics = asArray(object.topics, 'log topics').map((topic) =>
    fromHex(asHexText(topic, 'log topic'), 32, 'log topic'),
  )
  const data = fromHex(asHexText(object.data, 'log data'), undefined, 'log data')
  return {
    log: { address: toHex(address), topics: topics.map(toHex), data, logIndex: quantityToNumber(object.logIndex) },
    fields: [address, topics, data],
  }
}

/** Reads what `debug_getRawReceipts` gives for the transaction at `transactionHash`; log indices begin at `firstLogIndex`. */
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
