import type { Hex } from '../../lib/hex.ts'
import { transactionTotals } from '../protocol/index.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'

/** op-node's limit, and its way of counting, for payloads that wait for their parent. */
export const MAX_UNSAFE_QUEUE_BYTES = 500 * 1024 * 1024
const BYTES_PER_TRANSACTION = 24
const BYTES_PER_PAYLOAD = 1000

interface Entry {
  envelope: PayloadEnvelope
  sizeBytes: number
}

/** Gossiped blocks that do not extend the unsafe chain yet, lowest number first. Bounded by memory. */
export class UnsafeQueue {
  private readonly maxBytes: number
  /** Ascending by block number. Blocks of equal number are in order of arrival. */
  private readonly entries: Entry[] = []
  private readonly hashes = new Set<Hex>()
  private totalBytes = 0

  constructor(maxBytes = MAX_UNSAFE_QUEUE_BYTES) {
    this.maxBytes = maxBytes
  }

  get length(): number {
    return this.entries.length
  }

  get sizeBytes(): number {
    return this.totalBytes
  }

  /** Returns false for a known block, or for a block that is too large. Evicts the lowest blocks if necessary. */
  add(envelope: PayloadEnvelope): boolean {
    const { blockHash, blockNumber } = envelope.payload
    const sizeBytes = payloadBytes(envelope)
    if (this.hashes.has(blockHash) || sizeBytes > this.maxBytes) return false
    let index = this.entries.length
    while (index > 0 && (this.entries[index - 1]?.envelope.payload.blockNumber ?? 0) > blockNumber) index--
    this.entries.splice(index, 0, { envelope, sizeBytes })
    this.hashes.add(blockHash)
    this.totalBytes += sizeBytes
    while (this.totalBytes > this.maxBytes) this.pop()
    return this.hashes.has(blockHash)
  }

  peek(): PayloadEnvelope | undefined {
    return this.entries[0]?.envelope
  }

  pop(): PayloadEnvelope | undefined {
    const entry = this.entries.shift()
    if (entry === undefined) return undefined
    this.hashes.delete(entry.envelope.payload.blockHash)
    this.totalBytes -= entry.sizeBytes
    return entry.envelope
  }
}

function payloadBytes({ payload }: PayloadEnvelope): number {
  const { count, bytes } = transactionTotals(payload)
  return BYTES_PER_PAYLOAD + count * BYTES_PER_TRANSACTION + bytes
}
