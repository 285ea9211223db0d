import { type Clock, sleep } from '../../../lib/clock.ts'
import { describeError } from '../../../lib/errors.ts'

/** The last report of the batch submitter. */
export interface BatcherReport {
  ok: boolean
  /** Why no batches reach L1, or why the submitter did not answer. */
  text: string
  /** The submitter reports that it is stopped. `startCommand` starts it. */
  isStopped: boolean
  startCommand: string
}

/** The batch submitter, as the node reaches it. */
export interface WatchedBatcher {
  /** Rejects if the submitter does not answer. */
  read(): Promise<{ ok: boolean; why: string; running?: boolean | undefined }>
  startCommand: string
}

const POLL_INTERVAL_MS = 2_000

/** Polls the batch submitter, so that reading the node's health need not wait for it. */
export class BatcherWatch {
  private readonly batcher: WatchedBatcher
  private readonly clock: Clock
  private news: BatcherReport | undefined

  constructor(modules: { batcher: WatchedBatcher; clock: Clock }) {
    this.batcher = modules.batcher
    this.clock = modules.clock
  }

  /** Undefined before the first answer. */
  get last(): BatcherReport | undefined {
    return this.news
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.poll()
      await sleep(this.clock, POLL_INTERVAL_MS, signal).catch(() => undefined)
    }
  }

  private async poll(): Promise<void> {
    const { startCommand } = this.batcher
    try {
      const { ok, why, running } = await this.batcher.read()
      this.news = { ok, text: why, isStopped: running === false, startCommand }
    } catch (error) {
      this.news = { ok: false, text: describeError(error), isStopped: false, startCommand }
    }
  }
}
