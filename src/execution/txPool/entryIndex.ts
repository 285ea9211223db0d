import type { Hex } from '../../lib/hex.ts'
import type { PoolEntry } from './senderQueue.ts'

/** Pool transactions by hash, and the accounts that pooled set-code transactions authorize. */
export class EntryIndex {
  private readonly byHash = new Map<Hex, PoolEntry>()
  /** Pooled transactions of each authority. */
  private readonly authorities = new Map<Hex, number>()

  get(hash: Hex): PoolEntry | undefined {
    return this.byHash.get(hash)
  }

  isAuthority(address: Hex): boolean {
    return this.authorities.has(address)
  }

  add(entry: PoolEntry): void {
    this.byHash.set(entry.transaction.hash, entry)
    for (const address of entry.authorities) this.authorities.set(address, (this.authorities.get(address) ?? 0) + 1)
  }

  delete(entry: PoolEntry): void {
    if (!this.byHash.delete(entry.transaction.hash)) return
    for (const address of entry.authorities) {
      const count = (this.authorities.get(address) ?? 0) - 1
      if (count > 0) this.authorities.set(address, count)
      else this.authorities.delete(address)
    }
  }
}
