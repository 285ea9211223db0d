import { appendFileSync } from 'node:fs'
import { createLogger, type Logger } from '../../src/lib/logger.ts'
import { ProgramLog } from '../process/programLog.ts'

/** Logs what the runner does itself, beside the logs of its programs. */
export function createOwnLogger(path: string): Logger {
  const log = new ProgramLog(path)
  const write = (line: string) => {
    try {
      appendFileSync(path, line)
    } catch {
      // The disk is full, or the directory is gone: the programs will say so.
    }
    log.trim()
  }
  return createLogger({ level: 'info', format: 'text', color: false, write })
}
