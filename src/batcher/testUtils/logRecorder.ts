import { createLogger, type RootLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'

export interface LogRecord extends Record<string, unknown> {
  lvl: string
  msg: string
}

/** A logger whose lines a test can read and await. */
export interface LogRecorder {
  logger: RootLogger
  lines: LogRecord[]
  of(message: string): LogRecord[]
  /** Resolves when `count` lines with this message were logged. */
  seen(message: string, count?: number): Promise<LogRecord>
}

export function createLogRecorder(): LogRecorder {
  const lines: LogRecord[] = []
  const write = (line: string) => {
    lines.push(JSON.parse(line))
  }
  const of = (message: string) => lines.filter((line) => line.msg === message)
  return {
    logger: createLogger({ level: 'trace', format: 'json', color: false, write }),
    lines,
    of,
    seen: (message, count = 1) =>
      until(`line ${count} of "${message}"`, () => {
        const found = of(message)[count - 1]
        if (found !== undefined) return found
        throw new Error(`the last lines were ${JSON.stringify(lines.slice(-5))}`)
      }),
  }
}
