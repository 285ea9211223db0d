import type { Hex } from '../../lib/hex.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { TX_SLOT_BYTES } from './options.ts'

export interface PoolEntry {
  transaction: SignedTransaction
  /** Highest cost in wei, L1 and operator fees included, by the fees of the head at the last check. */
  cost: bigint
  /** The accounts that a set-code transaction authorizes. */
  authorities: ReadonlySet<Hex>
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
  readonly slots = { pending: 0, queued: 0 }

  constructor(accountNonce: number) {
    this.base = accountNonce
  }

  get accountNonce(): number {
    return this.base
  }

  get pending(): readonly PoolEntry[] {
    return this.executable
  }

  get queued(): readonly PoolEntry[] {
    return this.waiting
  }

  get size(): number {
    return this.executable.length + this.waiting.length
  }

  /** The sender's next nonce: the one after the last executable transaction. */
  get nextNonce(): number {
    return this.base + this.executable.length
  }

  get(nonce: number): PoolEntry | undefined {
    return this.executable[nonce - this.base] ?? this.waiting.find((entry) => entry.transaction.nonce === nonce)
  }

  /** The executable transactions with this nonce or a higher one. */
  pendingFrom(nonce: number): readonly PoolEntry[] {
    return this.executable.slice(Math.max(0, nonce - this.base))
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
    const entries = [...this.executable, ...this.waiting]
    const later = entries.findIndex((other) => other.transaction.nonce >= nonce)
    if (later === -1) this.append(entry)
    else this.fill(entries.toSpliced(later, entries[later]?.transaction.nonce === nonce ? 1 : 0, entry))
    return nonce < this.nextNonce
  }

  /** Later executable transactions become queued. */
  delete(nonce: number): void {
    this.rebuild(this.base, (entry) => entry.transaction.nonce !== nonce)
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
    this.fill(kept)
    return dropped
  }

  /** Replaces all transactions. They must be by rising nonce. */
  private fill(entries: readonly PoolEntry[]): void {
    this.executable = []
    this.waiting = []
    this.executableCost = 0n
    Object.assign(this.slots, { pending: 0, queued: 0 })
    for (const entry of entries) this.append(entry)
  }

  /** Adds a transaction with the highest nonce. */
  private append(entry: PoolEntry): void {
    if (entry.transaction.nonce === this.nextNonce) {
      this.executable.push(entry)
      this.executableCost += entry.cost
      this.slots.pending += slotsOf(entry)
    } else {
      this.waiting.push(entry)
      this.slots.queued += slotsOf(entry)
    }
  }
}
