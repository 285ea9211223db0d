import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Ban } from '../base/records.ts'

/** op-node checks one peer a second and takes a new peer list after each round. */
const TICK_MS = 1_000
/** A flooding peer must be banned sooner. */
const SUSPECTS_MS = 250
/** Two seconds of checks: gossipsub's score may be half a second old. */
const SUSPECT_CHECKS = 8

/** Bans peers whose score is below the threshold. Static peers are never banned. */
export function createBanMonitor(
  modules: {
    connected(): string[]
    score(peerId: string): number
    /** The part of the score with the largest effect, in a few words. */
    mainReason(peerId: string): string
    isStatic(peerId: string): boolean
    /** Records the ban and closes the peer's connections. */
    ban(peerId: string, ban: Ban): Promise<void>
    clock: Clock
    logger: Logger
  },
  options: { threshold: number; durationMs: number },
) {
  const { clock, logger } = modules
  let queue: string[] = []
  /** Value: the number of remaining checks. */
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
    for (const [peerId, checks] of suspects) {
      peers.add(peerId)
      if (checks > 1) suspects.set(peerId, checks - 1)
      else suspects.delete(peerId)
    }
    for (const peerId of peers) {
      if (cancel === undefined) return
      await check(peerId)
    }
  }
  const check = async (peerId: string): Promise<void> => {
    // The list is some seconds old. A peer that disconnected meanwhile has no connection to close.
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
        .catch((err: unknown) => logger.error('Checking the scores of connected peers failed', { err }))
        .finally(() => {
          if (cancel !== undefined) schedule()
        })
    }, SUSPECTS_MS)
  }
  return {
    start: schedule,
    /** Checks this peer repeatedly in the next two seconds, because it has just done something. */
    suspect(peerId: string): void {
      if (cancel !== undefined) suspects.set(peerId, SUSPECT_CHECKS)
    },
    stop(): void {
      cancel?.()
      cancel = undefined
    },
  }
}
