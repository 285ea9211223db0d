import { type Clock, sleep } from '../../src/lib/clock.ts'
import { describeError } from '../../src/lib/errors.ts'
import type { Logger } from '../../src/lib/logger.ts'

/** Repeats the work until the signal aborts. Never rejects: a failure is logged once, and the work is tried again after a pause. */
export async function keepTrying(
  work: () => Promise<void>,
  messages: { failed: string; again: string },
  { logger, clock, pauseMs }: { logger: Logger; clock: Clock; pauseMs: number },
  signal: AbortSignal,
): Promise<void> {
  let failure: string | undefined
  while (!signal.aborted) {
    try {
      await work()
      if (failure !== undefined) logger.info(messages.again)
      failure = undefined
    } catch (error) {
      if (signal.aborted) return
      const err = describeError(error)
      if (err !== failure) logger.warn(messages.failed, { err })
      failure = err
      await sleep(clock, pauseMs, signal).catch(() => {})
    }
  }
}
