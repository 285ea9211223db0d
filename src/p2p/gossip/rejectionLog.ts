import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pEvents } from '../base/events.ts'

/**
 * A wrong clock or signer address first shows here, so the line must be visible. Unauthenticated peers must not fill
 * the log.
 */
const QUIET_MS = 60_000

/**
 * Logs blocks that were not accepted. Rejections and faults of this node are warnings, at most once a minute for each
 * reason. All others are debug lines.
 */
export function logRejections(
  events: Pick<P2pEvents, 'on'>,
  { logger, clock }: { logger: Logger; clock: Clock },
): void {
  const silence = new Map<string, { untilMs: number; dropped: number }>()

  events.on('verdict', (peer, version, verdict) => {
    if (verdict.result === 'accept') return
    const { block, ...outcome } = verdict
    const fields = { peer, version, ...outcome, number: block?.number, hash: block?.hash }
    if (verdict.result === 'ignore' && verdict.reason !== 'internal-error') {
      logger.debug('Block from gossip not accepted', fields)
      return
    }
    const nowMs = clock.now()
    const quiet = silence.get(verdict.reason)
    if (quiet !== undefined && nowMs < quiet.untilMs) {
      quiet.dropped += 1
      logger.debug('Block from gossip not accepted', fields)
      return
    }
    silence.set(verdict.reason, { untilMs: nowMs + QUIET_MS, dropped: 0 })
    logger.warn('Block from gossip not accepted', { ...fields, more: quiet?.dropped || undefined })
  })
}
