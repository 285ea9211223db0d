import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'
import type { NodeMetrics } from './metrics.ts'

export interface BlockPublisherModules {
  /** Signs and gossips a block. */
  publish: (envelope: PayloadEnvelope) => Promise<void>
  /** Called after each attempt, with the error if it failed. */
  onTry: (error?: unknown) => void
  metrics: Pick<NodeMetrics, 'published' | 'droppedPublish'>
  clock: Clock
  logger: Logger
}

interface Waiting {
  envelope: PayloadEnvelope
  sinceMs: number
}

/** op-node's delay between two attempts. */
const RETRY_MS = 1_000

/**
 * Publishes blocks one after the other, in the background. A failed block is retried until it is so old that peers
 * would reject it.
 */
export class BlockPublisher {
  private readonly modules: BlockPublisherModules
  private readonly windowMs: number
  private readonly waiting: Waiting[] = []
  private readonly stopped = new AbortController()
  private working: Promise<void> | undefined
  private failures = 0

  constructor(modules: BlockPublisherModules, { windowMs }: { windowMs: number }) {
    this.modules = modules
    this.windowMs = windowMs
  }

  /**
   * Ignores old blocks. Peers would penalize a sequencer that publishes old blocks after an outage; other nodes get
   * these blocks by L1.
   */
  add(envelope: PayloadEnvelope): void {
    if (this.isTooOld(envelope)) {
      this.modules.metrics.droppedPublish()
      return
    }
    this.waiting.push({ envelope, sinceMs: this.modules.clock.now() })
    this.working ??= this.work().finally(() => {
      this.working = undefined
    })
  }

  /** Number of waiting blocks. */
  get length(): number {
    return this.waiting.length
  }

  /** Tries each waiting block once more, then stops. */
  async stop(): Promise<void> {
    this.stopped.abort()
    await this.working
  }

  private async work(): Promise<void> {
    const { clock, logger, metrics } = this.modules
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      const { blockNumber: number, blockHash: hash } = next.envelope.payload
      if (this.isTooOld(next.envelope)) {
        logger.warn('Block is too old to publish, dropping it', { number, hash })
        metrics.droppedPublish()
        this.waiting.shift()
      } else if ((await this.tryOne(next)) || this.stopped.signal.aborted) this.waiting.shift()
      else await sleep(clock, RETRY_MS, this.stopped.signal).catch(() => undefined)
    }
  }

  private async tryOne({ envelope, sinceMs }: Waiting): Promise<boolean> {
    const { publish, onTry, metrics, clock, logger } = this.modules
    const { blockNumber: number } = envelope.payload
    try {
      await publish(envelope)
      onTry()
      metrics.published(clock.now() - sinceMs)
      if (this.failures > 0) logger.info('Publishing blocks again', { number, failures: this.failures })
      this.failures = 0
      return true
    } catch (error) {
      onTry(error)
      // One line for an outage.
      if (this.failures++ === 0) logger.warn('Could not publish block', { number, err: error })
      else logger.debug('Could not publish block', { number, err: describeError(error) })
      return false
    }
  }

  private isTooOld({ payload }: PayloadEnvelope): boolean {
    return this.modules.clock.now() - payload.timestamp * 1000 > this.windowMs
  }
}
