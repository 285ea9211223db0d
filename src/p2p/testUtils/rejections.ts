import { createLogger, type Logger } from '../../lib/logger.ts'

/** What a node with this logger says of gossip messages that it did not accept: `reject wrong-hash`. */
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
