import { type Clock, sleep, unixSeconds } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { fromNowText, utcText } from '../../lib/phrases.ts'
import { type RollupConfig, type UnknownFork, unknownForks } from '../protocol/index.ts'

/** Seconds before a fork at which the node says once more that it cannot follow it. */
const NOTICE_S = 86_400

/** One sentence, without its full stop: what ends, and when. */
export function unknownForkText({ name, time }: UnknownFork, nowSeconds: number): string {
  const isPast = time <= nowSeconds
  const when = `${utcText(time)}, ${fromNowText(time, nowSeconds)}`
  return `This version does not know the fork ${name}: it ${isPast ? 'stopped' : 'stops'} following the chain at ${when}`
}

/** Warns of each fork that this version cannot follow: at the start, and a day before it. */
export class ForkWatch {
  private readonly clock: Clock
  private readonly logger: Logger
  private readonly forks: readonly UnknownFork[]

  constructor(
    { clock, logger }: { clock: Clock; logger: Logger },
    config: Pick<RollupConfig, 'forks' | 'unknownForks'>,
  ) {
    this.clock = clock
    this.logger = logger
    this.forks = unknownForks(config)
  }

  /** Until the last warning, or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (const fork of this.forks) this.warn(fork)
    for (const fork of this.forks) {
      const noticeMs = (fork.time - NOTICE_S) * 1000
      if (noticeMs <= this.clock.now()) continue
      // A timer may be shorter than what is asked of it.
      while (!signal.aborted && this.clock.now() < noticeMs) {
        await sleep(this.clock, noticeMs - this.clock.now(), signal).catch(() => undefined)
      }
      if (signal.aborted) return
      this.warn(fork)
    }
  }

  private warn(fork: UnknownFork): void {
    this.logger.warn(unknownForkText(fork, unixSeconds(this.clock)), { fork: fork.name, time: fork.time })
  }
}
