import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpInput, rlpBigInt, rlpBytes, rlpList, rlpNumber } from '../../lib/rlp.ts'
import { DEPOSIT_TX_TYPE } from '../../rollup/protocol/index.ts'
import type { Log } from '../primitives/block.ts'

/** The results of executing a transaction. All other fields of a receipt are derived from the block. */
export interface ExecutionReceipt {
  type: number
  status: 0 | 1
  cumulativeGasUsed: bigint
  logs: Omit<Log, 'logIndex'>[]
  /** 256 bytes. */
  logsBloom: Uint8Array
  /** Deposits from Regolith on. */
  depositNonce?: number
  /** Deposits from Canyon on. */
  depositReceiptVersion?: number
}

const BLOOM_BYTES = 256

/** Yellow Paper section 4.3.1: the three bits of an address or topic, counted from the low-order end. */
export function bloomBits(item: Hex): number[] {
  const digest = keccak256(fromHex(item))
  return [0, 2, 4].map((at) => (((digest[at] ?? 0) << 8) | (digest[at + 1] ?? 0)) & 2047)
}

export function logsBloom(logs: readonly { address: Hex; topics: readonly Hex[] }[]): Uint8Array {
  const bloom = new Uint8Array(BLOOM_BYTES)
  for (const { address, topics } of logs) {
    for (const bit of [address, ...topics].flatMap(bloomBits)) {
      const index = BLOOM_BYTES - 1 - (bit >> 3)
      bloom[index] = (bloom[index] ?? 0) | (1 << (bit & 7))
    }
  }
  return bloom
}

export function mergeBlooms(receipts: readonly ExecutionReceipt[]): Uint8Array {
  const bloom = new Uint8Array(BLOOM_BYTES)
  for (const { logs, logsBloom: part } of receipts) {
    if (logs.length === 0) continue
    for (let i = 0; i < BLOOM_BYTES; i++) bloom[i] = (bloom[i] ?? 0) | (part[i] ?? 0)
  }
  return bloom
}

/**
 * The encoding in the receipts root (specs: deposits, "Deposit receipt"). It has a deposit's nonce only together with
 * the version, from Canyon on.
 */
export function encodeConsensusReceipt(receipt: ExecutionReceipt): Uint8Array {
  const fields: RlpInput[] = [
    receipt.status,
    receipt.cumulativeGasUsed,
    receipt.logsBloom,
    receipt.logs.map((log) => [fromHex(log.address), log.topics.map((topic) => fromHex(topic)), log.data]),
  ]
  if (receipt.depositReceiptVersion !== undefined) {
    fields.push(receipt.depositNonce ?? 0, receipt.depositReceiptVersion)
  }
  const body = encodeRlp(fields)
  return receipt.type === 0 ? body : concatBytes(Uint8Array.of(receipt.type), body)
}

/** Form in the database: no bloom, and the deposit nonce from Regolith on. */
export function encodeStoredReceipts(receipts: readonly ExecutionReceipt[]): Uint8Array {
  return encodeRlp(
    receipts.map((receipt) => {
      const fields: RlpInput[] = [
        receipt.type,
        receipt.status,
        receipt.cumulativeGasUsed,
        receipt.logs.map((log) => [fromHex(log.address), log.topics.map((topic) => fromHex(topic)), log.data]),
      ]
      if (receipt.depositNonce !== undefined) fields.push(receipt.depositNonce)
      if (receipt.depositReceiptVersion !== undefined) fields.push(receipt.depositReceiptVersion)
      return fields
    }),
  )
}

/** Throws DecodeError. */
export function decodeStoredReceipts(encoding: Uint8Array): ExecutionReceipt[] {
  return rlpList(decodeRlp(encoding), 'receipts').map((item) => {
    const fields = rlpList(item, 'receipt')
    const type = rlpNumber(fields[0], 'receipt type')
    const logs = rlpList(fields[3], 'receipt logs').map((log) => {
      const [address, topics, data] = rlpList(log, 'log', 3)
      return {
        address: toHex(rlpBytes(address, 'log address', 20)),
        topics: rlpList(topics, 'log topics').map((topic) => toHex(rlpBytes(topic, 'log topic', 32))),
        data: rlpBytes(data, 'log data'),
      }
    })
    const receipt: ExecutionReceipt = {
      type,
      status: rlpNumber(fields[1], 'receipt status') === 1 ? 1 : 0,
      cumulativeGasUsed: rlpBigInt(fields[2], 'receipt gas'),
      logs,
      logsBloom: logsBloom(logs),
    }
    if (type === DEPOSIT_TX_TYPE && fields[4] !== undefined)
      receipt.depositNonce = rlpNumber(fields[4], 'deposit nonce')
    if (fields[5] !== undefined) receipt.depositReceiptVersion = rlpNumber(fields[5], 'deposit receipt version')
    return receipt
  })
}
