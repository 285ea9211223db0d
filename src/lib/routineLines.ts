import type { Clock } from './clock.ts'
import type { LogFields, Logger } from './logger.ts'

/** Minimum time between two routine lines at info level. */
const SHOW_EVERY_MS = 60_000

/**
 * A log line that occurs with every block. News is logged at info level, routine at debug level. One routine line a
 * minute is logged at info level: an operator sees that blocks arrive, and an idle chain does not fill the disk.
 */
export class RoutineLines {
  private readonly modules: { clock: Clock; logger: Pick<Logger, 'info' | 'debug'> }
  private readonly message: string
  private shownAtMs: number | undefined
  private skipped = 0

  constructor(modules: { clock: Clock; logger: Pick<Logger, 'info' | 'debug'> }, message: string) {
    this.modules = modules
    this.message = message
  }

  write(fields: LogFields, { isNews }: { isNews: boolean }): void {
    const { clock, logger } = this.modules
    const nowMs = clock.now()
    if (!isNews && this.shownAtMs !== undefined && nowMs - this.shownAtMs < SHOW_EVERY_MS) {
      this.skipped++
      logger.debug(this.message, fields)
      return
    }
    logger.info(this.message, this.skipped === 0 ? fields : { ...fields, skipped_lines: this.skipped })
    this.shownAtMs = nowMs
    this.skipped = 0
  }
}
