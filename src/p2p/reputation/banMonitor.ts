import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Ban } from '../base/records.ts'

/** op-node looks at one peer a second, over a list taken anew when it is through. */
const TICK_MS = 1_000
/** Whoever floods us is to be gone sooner. */
const SUSPECTS_MS = 250
/** gossipsub answers with a score that may be half a second old. */
const SUSPECT_LOOKS = 8

/** Bans peers whose score fell below the threshold; static peers never. */
export function createBanMonitor(
  modules: {
    connected(): string[]
    score(peerId: string): number
    /** What its score is made of, in a few words. */
    mainReason(peerId: string): string
    isStatic(peerId: string): boolean
    /** Writes the ban down and closes the peer's connections. */
    ban(peerId: string, ban: Ban): Promise<void>
    clock: Clock
    logger: Logger
  },
  options: { threshold: number; durationMs: number },
) {
  const { clock, logger } = modules
  let queue: string[] = []
  /** With the number of looks to come. */
  const suspects = new Map<string, number>()
  let cancel: (() => void) | undefined
  let sinceTickMs = 0

  const tick = async (): Promise<void> => {
    const peers = new Set<string>()
    sinceTickMs += SUSPECTS_MS
    if (sinceTickMs >= TICK_MS) {
      sinceTickMs = 0
      if (queue.length === 0) queue = modules.connected()
      const next = queue.shift()
      if (next !== undefined) peers.add(next)
    }
    for (const [peerId, looks] of suspects) {
      peers.add(peerId)
      if (looks > 1) suspects.set(peerId, looks - 1)
      else suspects.delete(peerId)
    }
    for (const peerId of peers) {
      if (cancel === undefined) return
      await look(peerId)
    }
  }
  const look = async (peerId: string): Promise<void> => {
    // The list is some seconds old: who is gone, banned or not, has nothing to be closed.
    if (modules.isStatic(peerId) || !modules.connected().includes(peerId)) return
    const score = modules.score(peerId)
    if (score >= options.threshold) return
    const reason = `score ${score.toFixed(2)} is below ${options.threshold}: ${modules.mainReason(peerId)}`
    logger.warn('Banning peer', { peer: peerId, reason, minutes: options.durationMs / 60_000 })
    await modules.ban(peerId, { expiryMs: clock.now() + options.durationMs, reason })
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(() => {
      tick()
        .catch((err: unknown) => logger.error('Error while checking connected peer score', { err }))
        .finally(() => {
          if (cancel !== undefined) schedule()
        })
    }, SUSPECTS_MS)
  }
  return {
    start: schedule,
    /** Looks at this peer again and again in the next two seconds: it has just done something. */
    suspect(peerId: string): void {
      if (cancel !== undefined) suspects.set(peerId, SUSPECT_LOOKS)
    },
    stop(): void {
      cancel?.()
      cancel = undefined
    },
  }
}
