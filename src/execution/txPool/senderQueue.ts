import type { SignedTransaction } from '../primitives/block.ts'
import { TX_SLOT_BYTES } from './options.ts'

export interface PoolEntry {
  transaction: SignedTransaction
  /** Highest cost in wei, L1 and operator fees included, by the fees of the head at the last check. */
  cost: bigint
  /** Milliseconds since the Unix epoch. */
  addedAtMs: number
  /** Order of arrival. It breaks ties between equal tips. */
  sequence: number
  /** Number of earlier replacements in a row that no block could include. */
  freeReplacements: number
}

export function slotsOf(entry: PoolEntry): number {
  return Math.ceil(entry.transaction.raw.length / TX_SLOT_BYTES)
}

/**
 * One sender's transactions by nonce. Those that follow the account's nonce without a gap are executable ("pending").
 * The others wait ("queued").
 */
export class SenderQueue {
  /** The account's nonce after the head block. `executable[i]` has nonce `base + i`. */
  private base: number
  private executable: PoolEntry[] = []
  /** By rising nonce. */
  private waiting: PoolEntry[] = []
  private executableCost = 0n
  private slots = { pending: 0, queued: 0 }

  constructor(accountNonce: number) {
    this.base = accountNonce
  }

  get accountNonce(): number {
    return this.base
  }

  get size(): number {
    return this.executable.length + this.waiting.length
  }

  get pending(): readonly PoolEntry[] {
    return this.executable
  }

  get queued(): readonly PoolEntry[] {
    return this.waiting
  }

  get pendingSlots(): number {
    return this.slots.pending
  }

  get queuedSlots(): number {
    return this.slots.queued
  }

  /** The sender's next nonce: the one after the last executable transaction. */
  get nextNonce(): number {
    return this.base + this.executable.length
  }

  get(nonce: number): PoolEntry | undefined {
    return this.executable[nonce - this.base] ?? this.waiting.find((entry) => entry.transaction.nonce === nonce)
  }

  /** Highest total cost of the executable transactions in wei, without that of one nonce. */
  pendingCostWithout(nonce: number): bigint {
    return this.executableCost - (this.executable[nonce - this.base]?.cost ?? 0n)
  }

  /**
   * Adds or replaces. The nonce must not be below the account's. Returns whether executable transactions were gained.
   */
  set(entry: PoolEntry): boolean {
    const { nonce } = entry.transaction
    if (nonce < this.base) throw new RangeError(`nonce ${nonce} is below the account's ${this.base}`)
    if (nonce === this.nextNonce) {
      this.push(entry)
      this.absorb()
      return true
    }
    if (nonce < this.nextNonce) {
      this.executable[nonce - this.base] = entry
      this.recount()
      return true
    }
    const place = this.waiting.findIndex((other) => other.transaction.nonce >= nonce)
    if (place === -1) this.waiting.push(entry)
    else this.waiting.splice(place, this.waiting[place]?.transaction.nonce === nonce ? 1 : 0, entry)
    this.recount()
    return false
  }

  /** Later executable transactions become queued. */
  delete(nonce: number): PoolEntry | undefined {
    const position = nonce - this.base
    if (position >= 0 && position < this.executable.length) {
      const [removed, ...stranded] = this.executable.splice(position)
      this.waiting.unshift(...stranded)
      this.recount()
      return removed
    }
    const place = this.waiting.findIndex((other) => other.transaction.nonce === nonce)
    if (place === -1) return undefined
    const [removed] = this.waiting.splice(place, 1)
    this.recount()
    return removed
  }

  /**
   * Sets the account's nonce. Drops transactions with used nonces and those that `keep` refuses. Returns the dropped
   * ones.
   */
  rebuild(accountNonce: number, keep: (entry: PoolEntry) => boolean = () => true): PoolEntry[] {
    const kept: PoolEntry[] = []
    const dropped: PoolEntry[] = []
    for (const entry of [...this.executable, ...this.waiting]) {
      const list = entry.transaction.nonce >= accountNonce && keep(entry) ? kept : dropped
      list.push(entry)
    }
    this.base = accountNonce
    this.executable = []
    this.waiting = kept
    this.recount()
    this.absorb()
    return dropped
  }

  private push(entry: PoolEntry): void {
    this.executable.push(entry)
    this.executableCost += entry.cost
    this.slots.pending += slotsOf(entry)
  }

  /** Makes waiting transactions executable if they have no gap before them any more. */
  private absorb(): void {
    let count = 0
    for (const entry of this.waiting) {
      if (entry.transaction.nonce !== this.nextNonce) break
      this.push(entry)
      this.slots.queued -= slotsOf(entry)
      count++
    }
    if (count > 0) this.waiting = this.waiting.slice(count)
  }

  private recount(): void {
    this.executableCost = 0n
    this.slots = { pending: 0, queued: 0 }
    for (const entry of this.executable) {
      this.executableCost += entry.cost
      this.slots.pending += slotsOf(entry)
    }
    for (const entry of this.waiting) this.slots.queued += slotsOf(entry)
  }
}
