import type { Clock } from './clock.ts'
import type { LogFields, Logger } from './logger.ts'

export interface ProgressState {
  /** Describes the task: `Importing blocks`. */
  what: string
  /** The counted items, in the plural: `blocks`. */
  unit: string
  done: number
  total: number | undefined
  /** Completed fraction from 0 to 1; undefined if the total is unknown. */
  fraction: number | undefined
  perSecond: number
  /** Estimated from the current rate; undefined while the rate is unknown. */
  secondsLeft: number | undefined
  /** Additional fields for the log line. */
  fields: LogFields
}

export interface ProgressSink {
  /** Minimum time between two calls of `show`. */
  readonly intervalMs: number
  show(state: ProgressState): void
  /** The task has ended. A sink may clear its last output. */
  end(): void
}

export interface ProgressOptions {
  what: string
  unit: string
}

/** The progress, in addition to the number of finished items. */
export interface ProgressMeasure {
  total?: number
  /** From 0 to 1, if a better measure than done/total is known. */
  fraction?: number
  fields?: () => LogFields
}

/** A shorter task shows no progress. */
const SHOWN_AFTER_MS = 2_000
/** The rate is computed over this window, because the rate changes during a task. */
const WINDOW_MS = 30_000

interface Sample {
  atMs: number
  done: number
  fraction: number | undefined
}

/** Shows how far a long task is, at which rate it runs, and how long it will still take. */
export class Progress {
  private readonly clock: Pick<Clock, 'now'>
  private readonly sink: ProgressSink
  private readonly options: ProgressOptions
  private readonly samples: Sample[]
  private nextMs: number
  private shown = false

  constructor({ clock, sink }: { clock: Pick<Clock, 'now'>; sink: ProgressSink }, options: ProgressOptions) {
    this.clock = clock
    this.sink = sink
    this.options = options
    const nowMs = clock.now()
    this.samples = [{ atMs: nowMs, done: 0, fraction: 0 }]
    this.nextMs = nowMs + SHOWN_AFTER_MS
  }

  get wasShown(): boolean {
    return this.shown
  }

  /** `done` is the count since the start. Cheap enough to call for every block or account. */
  advance(done: number, { total, fraction, fields }: ProgressMeasure = {}): void {
    const nowMs = this.clock.now()
    if (nowMs < this.nextMs) return
    this.nextMs = nowMs + this.sink.intervalMs
    const ofWhole = fraction ?? (total === undefined || total <= 0 ? undefined : Math.min(1, done / total))
    const { samples } = this
    while (samples.length > 1 && (samples[1]?.atMs ?? nowMs) <= nowMs - WINDOW_MS) samples.shift()
    const [from = { atMs: nowMs, done, fraction: ofWhole }] = samples
    const seconds = Math.max(0.001, (nowMs - from.atMs) / 1000)
    const perSecond = (done - from.done) / seconds
    samples.push({ atMs: nowMs, done, fraction: ofWhole })
    this.shown = true
    this.sink.show({
      ...this.options,
      done,
      total,
      fraction: ofWhole,
      perSecond,
      secondsLeft: secondsLeft(seconds),
      fields: fields?.() ?? {},
    })

    function secondsLeft(seconds: number): number | undefined {
      if (fraction === undefined && total !== undefined) {
        return perSecond > 0 ? Math.max(0, total - done) / perSecond : undefined
      }
      const gained = (ofWhole ?? 0) - (from.fraction ?? 0)
      return ofWhole === undefined || gained <= 0 ? undefined : ((1 - ofWhole) * seconds) / gained
    }
  }

  end(): void {
    this.sink.end()
  }
}

/** Time between two log lines. */
const LOG_INTERVAL_MS = 8_000

/** Logs the first line after two seconds, then one line in each interval. Field names contain the unit. */
export function progressInLog(logger: Pick<Logger, 'info'>): ProgressSink {
  return {
    intervalMs: LOG_INTERVAL_MS,
    show({ what, unit, done, total, fraction, perSecond, secondsLeft, fields }) {
      logger.info(what, {
        ...fields,
        ...(fraction === undefined ? {} : { percent: Math.floor(fraction * 100) }),
        [unit]: done,
        ...(total === undefined ? {} : { of: total }),
        [`${unit}PerSecond`]: perSecond < 10 ? Math.round(perSecond * 100) / 100 : Math.round(perSecond),
        ...(secondsLeft === undefined ? {} : { secondsLeft: Math.round(secondsLeft) }),
      })
    },
    end() {},
  }
}
