import type { Clock } from './clock.ts'
import type { LogFields, Logger } from './logger.ts'

/** How far something has come that takes a while. */
export interface ProgressState {
  /** Sentence-like: `Importing blocks`. */
  what: string
  /** What is counted, in the plural: `blocks`. */
  unit: string
  done: number
  total: number | undefined
  /** Of the whole, from 0 to 1; undefined where nobody knows the whole. */
  fraction: number | undefined
  perSecond: number
  /** At the rate of now; undefined before that is known. */
  secondsLeft: number | undefined
  /** What else is worth a word. */
  fields: LogFields
}

/** Shows progress to somebody. */
export interface ProgressSink {
  /** Between two that are shown. */
  readonly intervalMs: number
  show(state: ProgressState): void
  /** It is over: what was shown of it is of no more use. */
  end(): void
}

export interface ProgressOptions {
  what: string
  unit: string
}

/** How far it is, beside how many are done. */
export interface ProgressMeasure {
  total?: number
  /** From 0 to 1, where that is known better than from the total. */
  fraction?: number
  fields?: () => LogFields
}

/** What is over sooner is not worth a line. */
const SHOWN_AFTER_MS = 2_000
/** The rate is that of the last so long: some parts go faster than others. */
const WINDOW_MS = 30_000

interface Sample {
  atMs: number
  done: number
  fraction: number | undefined
}

/** Tells now and then how far a long work has come, at which rate, and how long it will still take. */
export class Progress {
  private readonly clock: Pick<Clock, 'now'>
  private readonly sink: ProgressSink
  private readonly options: ProgressOptions
  private readonly samples: Sample[]
  private nextMs: number
  private shown = false

  /** Begins to count the time. */
  constructor({ clock, sink }: { clock: Pick<Clock, 'now'>; sink: ProgressSink }, options: ProgressOptions) {
    this.clock = clock
    this.sink = sink
    this.options = options
    const nowMs = clock.now()
    this.samples = [{ atMs: nowMs, done: 0, fraction: 0 }]
    this.nextMs = nowMs + SHOWN_AFTER_MS
  }

  /** Whether it took long enough for anybody to hear of it. */
  get wasShown(): boolean {
    return this.shown
  }

  /** `done`: of all since the beginning. Cheap enough for every block or account. */
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

/** Between two lines of a log. */
const LOG_INTERVAL_MS = 8_000

/** A line of the log after two seconds, and then now and then, with the units in the names of its fields. */
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
