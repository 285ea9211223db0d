import type { Clock } from '../../lib/clock.ts'
import { DeviumError, type DeviumErrorOptions, describeError, severityOf } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1Lookup } from '../engine/index.ts'
import { maxSequencerDrift } from '../protocol/index.ts'
import type { BlockId, L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'

type OriginErrorCode = 'origin-reorged' | 'origin-missing' | 'origin-ahead'

/**
 * `origin-reorged` (reset): the unsafe head's L1 origin was removed by a reorg. Temporary: `origin-missing` (the drift limit
 * requires an L1 block that is not there) and `origin-ahead` (L1 has not reached the unsafe head's origin).
 */
export class OriginError extends DeviumError<OriginErrorCode> {
  override readonly name = 'OriginError'

  constructor(code: OriginErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, { severity: code === 'origin-reorged' ? 'reset' : 'temporary', ...options })
  }
}

/** Maximum delay of a block for reading a next origin that it does not need. */
const OPTIONAL_FETCH_MS = 500

/**
 * Selects the L1 origin of the next sequenced block (specs: derivation, "Sequencing window" and "max_sequencer_drift").
 */
export class OriginSelector {
  private readonly l1: L1Lookup
  private readonly clock: Clock
  private readonly logger: Logger
  private readonly config: RollupConfig
  private readonly confirmationDepth: number
  private recoverMode = false
  private l1Head: L1BlockRef | undefined
  private current: L1BlockRef | undefined
  private next: L1BlockRef | undefined
  /** The pending read of a next origin. Concurrent callers share its result. */
  private reading: { parent: Hex; sinceMs: number; answer: Promise<L1BlockRef | undefined> } | undefined

  /** `confirmationDepth`: minimum number of L1 blocks on top of an origin (op-node's `sequencer.l1-confs`). */
  constructor(
    modules: { l1: L1Lookup; clock: Clock; logger: Logger },
    config: RollupConfig,
    options: { confirmationDepth: number },
  ) {
    this.l1 = modules.l1
    this.clock = modules.clock
    this.logger = modules.logger
    this.config = config
    this.confirmationDepth = options.confirmationDepth
  }

  onL1Head(head: L1BlockRef): void {
    this.l1Head = head
  }

  /** In recover mode the next origin is always read, and used as soon as the block may have it, as in derivation. */
  setRecoverMode(isOn: boolean): void {
    this.recoverMode = isOn
  }

  /** Drops cached L1 blocks: after a reset L1 may have others. */
  reset(): void {
    this.current = undefined
    this.next = undefined
    this.reading = undefined
  }

  /**
   * Prefetches the possible origins of the block after `parent`, so that they are available when the block starts.
   * Never fails.
   */
  prefetch(parent: L2BlockRef): void {
    const read = async () => this.tryReadNext(await this.readCurrent(parent))
    read().catch((error: unknown) => this.logNoNext(parent.l1Origin.number, error))
  }

  /** Returns false if L1 has another block at this height. An origin that L1 has not reached counts as canonical. */
  async isCanonical(origin: BlockId): Promise<boolean> {
    const block = await this.l1.blockInfoByNumber(origin.number)
    return block === undefined || block.hash === origin.hash
  }

  /** The origin of the block after `parent`. Throws OriginError, or errors of the L1 source. */
  async select(parent: L2BlockRef): Promise<L1BlockRef> {
    const current = await this.readCurrent(parent)
    const l2Time = parent.timestamp + this.config.blockTime
    const isPastDrift = l2Time > current.timestamp + maxSequencerDrift(this.config, current.timestamp)
    const readOptional = () => (this.recoverMode ? this.readNext(current) : this.tryReadNext(current))
    const next = isPastDrift ? await this.requireNext(current) : await readOptional()
    if (next === undefined) return current
    if (next.parentHash !== current.hash) {
      this.reset()
      throw new OriginError('origin-reorged', `L1 block ${next.number} does not follow origin ${current.hash}`)
    }
    return l2Time >= next.timestamp ? next : current
  }

  /** Past the drift limit, a block needs the next origin. */
  private async requireNext(current: L1BlockRef): Promise<L1BlockRef> {
    const missing = (why: string, cause?: unknown) =>
      new OriginError(
        'origin-missing',
        `L1 block ${current.number + 1} is needed as origin (sequencer drift) and ${why}`,
        { cause },
      )
    const next = await this.readNext(current).catch((error: unknown) => {
      throw severityOf(error) === 'temporary' ? missing('could not be read', error) : error
    })
    if (next === undefined) throw missing('not there yet')
    return next
  }

  private async readCurrent(parent: L2BlockRef): Promise<L1BlockRef> {
    const { hash, number } = parent.l1Origin
    if (this.current?.hash === hash) return this.current
    const known = this.next?.hash === hash ? this.next : await this.l1.blockInfoByHash(hash)
    if (known === undefined) {
      if (this.l1Head !== undefined && this.l1Head.number < number) {
        const text = `L1 is at block ${this.l1Head.number} and has not reached block ${number}, the origin of the unsafe head`
        throw new OriginError('origin-ahead', text)
      }
      throw new OriginError('origin-reorged', `L1 does not have origin ${hash} of the unsafe head`)
    }
    this.current = known
    return known
  }

  /** The block after `current`, if the confirmation depth allows it. */
  private async readNext(current: L1BlockRef): Promise<L1BlockRef | undefined> {
    if (this.next?.parentHash === current.hash) return this.next
    const number = current.number + 1
    const { l1Head, confirmationDepth } = this
    if (confirmationDepth > 0 && l1Head !== undefined && number + confirmationDepth > l1Head.number) return undefined
    if (this.reading?.parent === current.hash) return this.reading.answer
    const reading = {
      parent: current.hash,
      sinceMs: this.clock.now(),
      answer: this.l1.blockInfoByNumber(number),
    }
    this.reading = reading
    try {
      const next = await reading.answer
      // A reset in the meantime makes the result obsolete.
      if (this.reading === reading) this.next = next
      return next
    } finally {
      if (this.reading === reading) this.reading = undefined
    }
  }

  private async tryReadNext(current: L1BlockRef): Promise<L1BlockRef | undefined> {
    if (this.next?.parentHash === current.hash) return this.next
    // No newer L1 block exists until the tracker reports a higher head.
    if (this.l1Head !== undefined && this.l1Head.number <= current.number) return undefined
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>()
    const spentMs = this.reading?.parent === current.hash ? this.clock.now() - this.reading.sinceMs : 0
    const cancel = this.clock.setTimeout(() => resolve(undefined), Math.max(0, OPTIONAL_FETCH_MS - spentMs))
    try {
      return await Promise.race([this.readNext(current), timeout])
    } catch (error) {
      this.logNoNext(current.number, error)
      return undefined
    } finally {
      cancel()
    }
  }

  private logNoNext(current: number, error: unknown): void {
    this.logger.debug('Could not read the next L1 origin', { current, err: describeError(error) })
  }
}
