import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'

const KEPT = 1_024
/** Of the time that a block had for the pool: who takes as much cannot blame others. */
const LARGE_SHARE = 0.5
/** Blocks that one which came late each time may spoil the end of. */
const CHANCES = 3

/** Transactions that blocks could not wait for: they are not begun again for ever. */
export class SlowTransactions {
  private readonly given = new LruMap<Hex, number>(KEPT)

  /** `share` of the time that its block had for the pool was spent on it, in vain. */
  note(hash: Hex, share: number): void {
    this.given.set(hash, (this.given.get(hash) ?? 0) + (share >= LARGE_SHARE ? CHANCES : 1))
  }

  isTooSlow(hash: Hex): boolean {
    return (this.given.get(hash) ?? 0) >= CHANCES
  }
}
