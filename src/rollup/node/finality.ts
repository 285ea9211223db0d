import { DeviumError } from '../../lib/errors.ts'
import type { L1Lookup } from '../engine/index.ts'
import type { BlockId, L1BlockRef, L2BlockRef } from '../protocol/types.ts'

/** Severity reset: a recorded finalized or derived-from block is not on L1's canonical chain. */
export class FinalityError extends DeviumError<'finality-not-canonical'> {
  override readonly name = 'FinalityError'
}

/** Four epochs of 32 slots, plus one. */
const FINALITY_LOOKBACK = 4 * 32 + 1
const FINALITY_DELAY = 64

/** In derived L1 blocks. 0 means the default. */
export interface FinalityOptions {
  /** Number of blocks to which a finalized signal may refer. Default 129. */
  lookback?: number
  /** Number of blocks after which finality is tried again without a new signal. Default 64. */
  delay?: number
}

interface Entry {
  l1: BlockId
  safe: L2BlockRef
}

/** Records which L2 head was safe after which L1 block, and finalizes L2 blocks whose L1 block is finalized. */
export class FinalityTracker {
  private readonly l1: Pick<L1Lookup, 'blockInfoByNumber'>
  private readonly lookback: number
  private readonly delay: number
  private entries: Entry[] = []
  private finalizedL1: L1BlockRef | undefined
  private triedAtL1 = 0
  private generation = 0

  constructor(modules: { l1: Pick<L1Lookup, 'blockInfoByNumber'> }, { lookback, delay }: FinalityOptions = {}) {
    this.l1 = modules.l1
    this.lookback = lookback || FINALITY_LOOKBACK
    this.delay = delay || FINALITY_DELAY
  }

  /** Drops the records of derivation. The last signal from L1 is kept. */
  reset(): void {
    this.entries = []
    this.triedAtL1 = 0
    this.generation++
  }

  /** Records that `safe` was the complete safe head after L1 block `l1`. */
  record(l1: BlockId, safe: L2BlockRef): void {
    const last = this.entries.at(-1)
    if (last !== undefined && last.l1.number === l1.number) {
      last.safe = safe
      return
    }
    this.entries.push({ l1: { hash: l1.hash, number: l1.number }, safe })
    if (this.entries.length > this.lookback) this.entries.shift()
  }

  /** Returns false for a signal older than the last. */
  signal(finalizedL1: L1BlockRef): boolean {
    if (this.finalizedL1 !== undefined && finalizedL1.number < this.finalizedL1.number) return false
    this.finalizedL1 = finalizedL1
    return true
  }

  /** Whether derivation has read enough L1 blocks since the last try. */
  isDue(derivedL1Number: number): boolean {
    return this.finalizedL1 !== undefined && derivedL1Number >= this.triedAtL1 + this.delay
  }

  /** The highest final L2 block above `finalized`; undefined if there is none. */
  async find(finalized: L2BlockRef): Promise<L2BlockRef | undefined> {
    const { finalizedL1, generation } = this
    if (finalizedL1 === undefined) return undefined
    this.triedAtL1 = this.entries.at(-1)?.l1.number ?? this.triedAtL1
    const entry = this.entries.findLast(({ l1 }) => l1.number <= finalizedL1.number)
    if (entry === undefined || entry.safe.number <= finalized.number) return undefined
    const { safe } = entry
    try {
      await this.checkCanonical(finalizedL1)
    } catch (error) {
      // One wrong answer of L1 must not make all later, lower ones look old.
      if (error instanceof FinalityError && this.finalizedL1 === finalizedL1) this.finalizedL1 = undefined
      throw error
    }
    await this.checkCanonical(entry.l1)
    return generation === this.generation ? safe : undefined
  }

  private async checkCanonical(block: BlockId): Promise<void> {
    const canonical = await this.l1.blockInfoByNumber(block.number)
    if (canonical?.hash === block.hash) return
    throw new FinalityError(
      'finality-not-canonical',
      `L1 block ${block.number} is ${canonical?.hash ?? 'missing'}, but was recorded as ${block.hash}`,
      { severity: canonical === undefined ? 'temporary' : 'reset' },
    )
  }
}
