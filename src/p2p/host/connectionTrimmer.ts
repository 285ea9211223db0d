import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'

/** A connected peer as the trimmer weighs it. */
export interface TrimCandidate {
  id: string
  connectedSinceMs: number
  protected: boolean
  /** Passes blocks on to us in a mesh. */
  inMesh: boolean
  score: number
}

/** go-libp2p's connection manager trims at most once a minute. */
const SILENCE_MS = 60_000

/** Which peers to close: none up to the high mark; above it the least worthy, down to the low mark. */
export function chooseToTrim(
  peers: readonly TrimCandidate[],
  marks: { low: number; high: number; graceMs: number },
  nowMs: number,
): string[] {
  if (peers.length <= marks.high) return []
  return peers
    .filter((peer) => !peer.protected && nowMs - peer.connectedSinceMs >= marks.graceMs)
    .sort((a, b) => Number(a.inMesh) - Number(b.inMesh) || a.score - b.score || b.connectedSinceMs - a.connectedSinceMs)
    .slice(0, peers.length - marks.low)
    .map((peer) => peer.id)
}

/** Looks at the number of connections every half grace time, at most once a minute. */
export function createConnectionTrimmer(
  modules: { peers(): TrimCandidate[]; close(peerId: string): Promise<void>; clock: Clock; logger: Logger },
  marks: { low: number; high: number; graceMs: number },
): { start(): void; stop(): void } {
  const { clock, logger } = modules
  let cancel: (() => void) | undefined
  const check = (): void => {
    for (const peerId of chooseToTrim(modules.peers(), marks, clock.now())) {
      logger.debug('Too many peers: closing one', { peer: peerId })
      modules.close(peerId).catch((err: unknown) => logger.debug('Closing a peer failed', { peer: peerId, err }))
    }
    schedule()
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(check, Math.max(SILENCE_MS, marks.graceMs / 2))
  }
  return {
    start: schedule,
    stop: () => cancel?.(),
  }
}
