import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'

export interface BlockPublisherModules {
  /** Signs and gossips. */
  publish: (envelope: PayloadEnvelope) => Promise<void>
  /** Hears of each try: why it failed, or undefined. */
  onTry: (error?: unknown) => void
  clock: Clock
  logger: Logger
}

/** op-node's pause between two tries. */
const RETRY_MS = 1_000

/**
 * Publishes blocks one after the other, without anybody waiting for it. A block that does not go out is tried again until
 * it is so old that peers would refuse it.
 */
export class BlockPublisher {
  private readonly modules: BlockPublisherModules
  private readonly windowMs: number
  private readonly waiting: PayloadEnvelope[] = []
  private readonly stopped = new AbortController()
  private working: Promise<void> | undefined
  private failures = 0

  constructor(modules: BlockPublisherModules, { windowMs }: { windowMs: number }) {
    this.modules = modules
    this.windowMs = windowMs
  }

  /** A sequencer that catches up after an outage would only be punished for old blocks: they reach other nodes by L1. */
  add(envelope: PayloadEnvelope): void {
    if (this.isTooOld(envelope)) return
    this.waiting.push(envelope)
    this.working ??= this.work().finally(() => {
      this.working = undefined
    })
  }

  /** Tries each waiting block once more, and then leaves it. */
  async stop(): Promise<void> {
    this.stopped.abort()
    await this.working
  }

  private async work(): Promise<void> {
    const { clock, logger } = this.modules
    for (let block = this.waiting[0]; block !== undefined; block = this.waiting[0]) {
      const { blockNumber: number, blockHash: hash } = block.payload
      if (this.isTooOld(block)) {
        logger.warn('Giving up on publishing block', { number, hash })
        this.waiting.shift()
      } else if ((await this.tryOne(block)) || this.stopped.signal.aborted) this.waiting.shift()
      else await sleep(clock, RETRY_MS, this.stopped.signal).catch(() => undefined)
    }
  }

  private async tryOne(envelope: PayloadEnvelope): Promise<boolean> {
    const { publish, onTry, logger } = this.modules
    const { blockNumber: number } = envelope.payload
    try {
      await publish(envelope)
      onTry()
      if (this.failures > 0) logger.info('Publishing blocks again', { number, failures: this.failures })
      this.failures = 0
      return true
    } catch (error) {
      onTry(error)
      // One line an outage.
      if (this.failures++ === 0) logger.warn('Could not publish block', { number, err: error })
      else logger.debug('Could not publish block', { number, err: describeError(error) })
      return false
    }
  }

  private isTooOld({ payload }: PayloadEnvelope): boolean {
    return this.modules.clock.now() - payload.timestamp * 1000 > this.windowMs
  }
}
