import { createLogger, type Logger } from '../../lib/logger.ts'

/** A logger that records its lines from this level on. */
export function recordedLog(
  level: 'debug' | 'info' | 'warn' | 'error' = 'info',
  format: 'logfmt' | 'text' | 'json' = 'logfmt',
): { logger: Logger; lines: string[] } {
  const lines: string[] = []
  const write = (line: string): number => lines.push(line)
  return { lines, logger: createLogger({ level, format, color: false, write }) }
}
