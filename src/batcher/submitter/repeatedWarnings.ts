import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

/** Shortest time between two warnings of the same text. Between them, the text is logged at debug level. */
const REPEAT_MS = 10_000
const MAX_REMEMBERED = 50

/** Limits the warnings of an operation that is retried: the same text is logged at most once in ten seconds. */
export class RepeatedWarnings {
  private readonly modules: { clock: Clock; logger: Logger }
  private readonly level: 'warn' | 'info'
  private readonly lastAtMs = new Map<string, number>()

  constructor(modules: { clock: Clock; logger: Logger }, level: 'warn' | 'info' = 'warn') {
    this.modules = modules
    this.level = level
  }

  warn(message: string, error: unknown): void {
    const { clock, logger } = this.modules
    const err = describeError(error)
    const key = `${message}: ${err}`
    const nowMs = clock.now()
    const before = this.lastAtMs.get(key)
    if (before !== undefined && nowMs - before < REPEAT_MS) {
      logger.debug(message, { err })
      return
    }
    if (this.lastAtMs.size >= MAX_REMEMBERED) this.lastAtMs.clear()
    this.lastAtMs.set(key, nowMs)
    logger[this.level](message, { [this.level === 'warn' ? 'err' : 'reason']: err })
  }
}
