import { createLogger, type Logger } from '../../lib/logger.ts'

/** Records the log of gossip messages that were not accepted: `reject wrong-hash`. */
export function recordRejections(): { logger: Logger; reasons: string[] } {
  const reasons: string[] = []
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    color: false,
    write(line) {
      const { msg, result, reason } = JSON.parse(line)
      if (msg === 'Block from gossip not accepted') reasons.push(`${result} ${reason}`)
    },
  })
  return { logger, reasons }
}
