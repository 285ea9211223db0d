import { DeviumError } from '../../lib/errors.ts'
import type { BlockId, L1BlockRef, L2BlockRef } from '../protocol/types.ts'

export interface FinalityL1 {
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

/** Severity reset: what was recorded as finalized or derived from is not on L1's canonical chain. */
export class FinalityError extends DeviumError<'finality-not-canonical'> {
  override readonly name = 'FinalityError'
}

/** Two epochs of 32 slots each twice over, plus one: L1 blocks back to which a finalized signal may point. */
const FINALITY_LOOKBACK = 4 * 32 + 1
/** Derived L1 blocks after which finality is tried again without a new signal. */
const FINALITY_DELAY = 64

interface Entry {
  l1: BlockId
  safe: L2BlockRef
}

/** Remembers which L2 head was safe after which L1 block, and finalizes what finalized L1 blocks gave. */
export class FinalityTracker {
  private readonly l1: FinalityL1
  private entries: Entry[] = []
  private finalizedL1: L1BlockRef | undefined
  private triedAtL1 = 0
  private generation = 0

  constructor(modules: { l1: FinalityL1 }) {
    this.l1 = modules.l1
  }

  /** The derived part is forgotten; the signal from L1 stands. */
  reset(): void {
    this.entries = []
    this.triedAtL1 = 0
    this.generation++
  }

  /** Safe head `safe` was complete after reading L1 block `l1`. */
  record(l1: BlockId, safe: L2BlockRef): void {
    const last = this.entries.at(-1)
    if (last !== undefined && last.l1.number === l1.number) {
      last.safe = safe
      return
    }
    this.entries.push({ l1: { hash: l1.hash, number: l1.number }, safe })
    if (this.entries.length > FINALITY_LOOKBACK) this.entries.shift()
  }

  /** False for a signal older than the one known. */
  signal(finalizedL1: L1BlockRef): boolean {
    if (this.finalizedL1 !== undefined && finalizedL1.number < this.finalizedL1.number) return false
    this.finalizedL1 = finalizedL1
    return true
  }

  /** Whether derivation has read enough L1 blocks since the last try to try again. */
  isDue(derivedL1Number: number): boolean {
    return this.finalizedL1 !== undefined && derivedL1Number >= this.triedAtL1 + FINALITY_DELAY
  }

  /** The highest L2 block that is final by now and above `finalized`; undefined when there is none. */
  async find(finalized: L2BlockRef): Promise<L2BlockRef | undefined> {
    const { finalizedL1, generation } = this
    if (finalizedL1 === undefined) return undefined
    this.triedAtL1 = this.entries.at(-1)?.l1.number ?? this.triedAtL1
    const entry = this.entries.findLast(({ l1 }) => l1.number <= finalizedL1.number)
    if (entry === undefined || entry.safe.number <= finalized.number) return undefined
    const { safe } = entry
    await this.checkCanonical(finalizedL1)
    await this.checkCanonical(entry.l1)
    return generation === this.generation ? safe : undefined
  }

  private async checkCanonical(block: BlockId): Promise<void> {
    const canonical = await this.l1.blockInfoByNumber(block.number)
    if (canonical?.hash === block.hash) return
    throw new FinalityError(
      'finality-not-canonical',
      `L1 block ${block.number} is ${canonical?.hash ?? 'not there'}, recorded as ${block.hash}`,
      { severity: canonical === undefined ? 'temporary' : 'reset' },
    )
  }
}
