import { appendFileSync } from 'node:fs'
import { createLogger, type Logger } from '../../src/lib/logger.ts'
import { ProgramLog } from '../process/programLog.ts'

/** The log of the runner's own components. */
export function createOwnLogger(path: string): Logger {
  const log = new ProgramLog(path)
  const write = (line: string) => {
    try {
      appendFileSync(path, line)
    } catch {
      // The disk is full, or the directory was removed. The programs report it.
    }
    log.trim()
  }
  return createLogger({ level: 'info', format: 'text', color: false, write })
}
