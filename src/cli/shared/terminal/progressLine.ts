import type { ProgressSink, ProgressState } from '../../../lib/progress.ts'
import { formatSeconds } from '../units.ts'

export interface ProgressOutput {
  write(text: string): unknown
  columns?: number
}

const INTERVAL_MS = 200
const CLEAR = '\r\x1b[K'

/** One line at the end of a terminal's output, which is rewritten. All other output must go through `write`. */
export class ProgressLine implements ProgressSink {
  readonly intervalMs = INTERVAL_MS
  private readonly output: ProgressOutput
  private shown = ''

  constructor(output: ProgressOutput) {
    this.output = output
  }

  show(state: ProgressState): void {
    // A line that fills the last column would wrap.
    this.shown = progressText(state).slice(0, (this.output.columns || 80) - 1)
    this.output.write(CLEAR + this.shown)
  }

  end(): void {
    if (this.shown !== '') this.output.write(CLEAR)
    this.shown = ''
  }

  /** Writes permanent lines above the progress line. */
  write(lines: string): void {
    if (this.shown === '') this.output.write(lines)
    else this.output.write(CLEAR + lines + this.shown)
  }
}

/**
 * `Importing blocks: 24 %, 31 s left, 12,345 blocks, 1,234 a second`. The least important part comes last, because a narrow
 * terminal cuts it off.
 */
export function progressText({ what, unit, done, total, fraction, perSecond, secondsLeft }: ProgressState): string {
  const count = total === undefined ? grouped(done) : `${grouped(done)} of ${grouped(total)}`
  const parts = [
    ...(fraction === undefined ? [] : [`${Math.floor(fraction * 100)} %`]),
    ...(secondsLeft === undefined ? [] : [`${formatSeconds(secondsLeft)} left`]),
    `${count} ${unit}`,
    `${perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))} a second`,
  ]
  return `${what}: ${parts.join(', ')}`
}

function grouped(value: number): string {
  return value.toLocaleString('en-US')
}
