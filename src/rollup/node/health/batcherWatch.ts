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
export function createBatcherWatch({ batcher, clock }: { batcher: WatchedBatcher; clock: Clock }) {
  const { startCommand } = batcher
  let last: BatcherReport | undefined
  return {
    /** Undefined before the first answer. */
    last: () => last,
    /** Runs until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          const { ok, why, running } = await batcher.read()
          last = { ok, text: why, isStopped: running === false, startCommand }
        } catch (error) {
          last = { ok: false, text: describeError(error), isStopped: false, startCommand }
        }
        await sleep(clock, POLL_INTERVAL_MS, signal).catch(() => undefined)
      }
    },
  }
}
