import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

/** The same problem is logged as warning once in this time. */
const REPEAT_MS = 10_000
/** Different problems remembered. */
const MAX_REMEMBERED = 50

/** Warnings of something that is tried again and again: the same text comes at most once in ten seconds. */
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
