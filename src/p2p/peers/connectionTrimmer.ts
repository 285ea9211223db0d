import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'

/** A connected peer with the facts that the trimmer ranks it by. */
export interface TrimCandidate {
  id: string
  connectedSinceMs: number
  protected: boolean
  /** The peer is in our mesh of the topic that carries blocks now. */
  inMesh: boolean
  /** This node chose the peer: discovered or dialled. go-libp2p has a tag of op-node's discovery for this. */
  chosen: boolean
  score: number
}

export interface TrimMarks {
  low: number
  high: number
  /** A peer is not trimmed during this time after it connects. */
  graceMs: number
}

/** go-libp2p's connection manager trims at most once a minute. */
const SILENCE_MS = 60_000
/**
 * At the connection limit, one relief in this time. Otherwise every unauthenticated peer that dials could close
 * connections.
 */
const RELIEF_PAUSE_MS = 10_000

/**
 * Chooses the peers to close: none up to the high mark, above it down to the low mark. Order: negative scores, then
 * inbound peers, then lowest score, then youngest. Protected and mesh peers are never closed; new peers are spared
 * during the grace time.
 */
export function chooseToTrim(peers: readonly TrimCandidate[], marks: TrimMarks, nowMs: number): string[] {
  if (peers.length <= marks.high) return []
  return inTrimOrder(peers.filter((peer) => nowMs - peer.connectedSinceMs >= marks.graceMs)).slice(
    0,
    peers.length - marks.low,
  )
}

/** At the connection limit: closes down to the high mark, without the grace time. */
export function chooseAtLimit(peers: readonly TrimCandidate[], marks: TrimMarks): string[] {
  return inTrimOrder(peers).slice(0, Math.max(0, peers.length - marks.high))
}

function inTrimOrder(peers: readonly TrimCandidate[]): string[] {
  const isBad = ({ score }: TrimCandidate): boolean => score < 0
  return peers
    .filter((peer) => !peer.protected && !peer.inMesh)
    .sort(
      (a, b) =>
        Number(isBad(b)) - Number(isBad(a)) ||
        Number(a.chosen) - Number(b.chosen) ||
        a.score - b.score ||
        b.connectedSinceMs - a.connectedSinceMs,
    )
    .map(({ id }) => id)
}

/** Checks the number of connections every half grace time, at most once a minute. */
export function createConnectionTrimmer(
  modules: {
    peers(): TrimCandidate[]
    close(peerId: string): Promise<void>
    clock: Clock
    logger: Logger
  },
  marks: TrimMarks,
) {
  const { clock, logger } = modules
  let cancel: (() => void) | undefined
  let relievedMs = Number.NEGATIVE_INFINITY
  const closeAll = (peerIds: readonly string[]): void => {
    for (const peerId of peerIds) {
      logger.debug('Too many peers: closing one', { peer: peerId })
      modules.close(peerId).catch((err: unknown) => logger.debug('Closing a peer failed', { peer: peerId, err }))
    }
  }
  const check = (): void => {
    closeAll(chooseToTrim(modules.peers(), marks, clock.now()))
    schedule()
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(check, Math.max(SILENCE_MS, marks.graceMs / 2))
  }
  const relieve = (): void => {
    if (clock.now() - relievedMs < RELIEF_PAUSE_MS) return
    relievedMs = clock.now()
    const peers = modules.peers()
    const tooMany = chooseAtLimit(peers, marks)
    logger.info('Peer limit reached: closing the lowest-ranked peers', {
      peers: peers.length,
      closed: tooMany.length,
    })
    closeAll(tooMany)
  }
  return {
    start: schedule,
    stop: (): void => cancel?.(),
    /** The connection limit is reached: closes peers to make space for new ones. */
    relieve,
  }
}
