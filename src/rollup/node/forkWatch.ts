import { type Clock, sleep, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { fromNowText, utcText } from '../../lib/phrases.ts'
import {
  bundleNeededAt,
  FORKS,
  type Fork,
  MISSING_BUNDLE_TEXT,
  type RollupConfig,
  type UnknownFork,
  unknownForks,
} from '../protocol/index.ts'

/** Seconds before a fork at which the node repeats the warning. */
const NOTICE_S = 86_400

/** One sentence without its full stop: what ends, and when. */
export function unknownForkText({ name, time }: UnknownFork, nowSeconds: number): string {
  const isPast = time <= nowSeconds
  const when = `${utcText(time)}, ${fromNowText(time, nowSeconds)}`
  return `This version does not know the fork ${name}: it ${isPast ? 'stopped' : 'stops'} following the chain at ${when}`
}

/** The same for Lagoon without its upgrade bundle. */
export function missingBundleText(time: number, nowSeconds: number): string {
  const stops = time <= nowSeconds ? 'stopped' : 'stops'
  return `The node ${stops} before Lagoon at ${utcText(time)}, ${fromNowText(time, nowSeconds)}: ${MISSING_BUNDLE_TEXT}`
}

export interface EngineForkVerdict {
  /** Undefined: unknown. */
  isReady: boolean | undefined
  /** Why the engine is not ready: a sentence without its full stop. */
  problem: string | undefined
}
/** Checks whether the engine is ready for a fork that this version knows. */
export type EngineForkCheck = (fork: { name: Fork; time: number }) => Promise<EngineForkVerdict>

interface ForkWatchModules {
  clock: Clock
  logger: Logger
  /** Absent: the engine is not checked. */
  engineForkCheck?: EngineForkCheck | undefined
}

interface WatchedFork {
  name: string
  time: number
  /** A sentence that names the component that cannot follow the fork; undefined if no problem is known. */
  problem(): Promise<string | undefined>
}

/** Warns of each fork that this version or its engine cannot follow, at the start and a day before the fork. */
export class ForkWatch {
  private readonly clock: Clock
  private readonly logger: Logger
  private readonly forks: readonly WatchedFork[]

  constructor(
    { clock, logger, engineForkCheck }: ForkWatchModules,
    config: Pick<RollupConfig, 'forks' | 'unknownForks' | 'lagoonBundle' | 'genesis'>,
    /** Whether the node follows another node and needs no bundle. */
    { follows = false }: { follows?: boolean } = {},
  ) {
    this.clock = clock
    this.logger = logger
    const unknown = unknownForks(config)
    const known = FORKS.flatMap((name): WatchedFork[] => {
      const time = config.forks[name]
      const isAhead = time !== undefined && time > unixSeconds(clock)
      if (engineForkCheck === undefined || !isAhead) return []
      return [{ name, time, problem: async () => (await engineForkCheck({ name, time })).problem }]
    })
    const toWatch = (fork: UnknownFork): WatchedFork => {
      return { ...fork, problem: async () => unknownForkText(fork, unixSeconds(clock)) }
    }
    const lagoon = bundleNeededAt(config)
    const unready: WatchedFork[] =
      lagoon === undefined || lagoon <= unixSeconds(clock) || follows
        ? []
        : [{ name: 'lagoon', time: lagoon, problem: async () => missingBundleText(lagoon, unixSeconds(clock)) }]
    this.forks = [...unknown.map(toWatch), ...unready, ...known].sort((a, b) => a.time - b.time)
  }

  /** Runs until the last warning, or until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (const fork of this.forks) await this.warnOf(fork)
    for (const fork of this.forks) {
      const noticeMs = (fork.time - NOTICE_S) * 1000
      if (noticeMs <= this.clock.now()) continue
      // A timer cannot be arbitrarily long.
      while (!signal.aborted && this.clock.now() < noticeMs) {
        await sleep(this.clock, noticeMs - this.clock.now(), signal).catch(() => undefined)
      }
      if (signal.aborted) return
      await this.warnOf(fork)
    }
  }

  private async warnOf({ name, time, problem }: WatchedFork): Promise<void> {
    try {
      const text = await problem()
      if (text !== undefined) this.logger.warn(text, { fork: name, time })
    } catch (error) {
      this.logger.debug('Could not check the engine for a fork', { fork: name, err: describeError(error) })
    }
  }
}
