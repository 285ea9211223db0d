import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'

const KEPT = 1_024
/** Part of the block's time for the pool. A transaction that took this much is dropped at once. */
const LARGE_SHARE = 0.5
/** Late attempts after which a transaction is dropped. Each may spoil the end of a block. */
const CHANCES = 3

/** Transactions that were aborted because their block was due. Later blocks do not start them again forever. */
export class SlowTransactions {
  private readonly given = new LruMap<Hex, number>(KEPT)

  /** @param share part of the block's time for the pool that the aborted execution took */
  note(hash: Hex, share: number): void {
    this.given.set(hash, (this.given.get(hash) ?? 0) + (share >= LARGE_SHARE ? CHANCES : 1))
  }

  isTooSlow(hash: Hex): boolean {
    return (this.given.get(hash) ?? 0) >= CHANCES
  }
}
