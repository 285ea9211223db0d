import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'

/** A connected peer as the trimmer weighs it. */
export interface TrimCandidate {
  id: string
  connectedSinceMs: number
  /** Static, or protected by the operator. */
  protected: boolean
  /** Passes blocks on to us in the mesh of the topic that carries them. */
  inMesh: boolean
  /** Discovered, or dialled by us: we chose it. go-libp2p's tag of op-node's discovery. */
  chosen: boolean
  score: number
}

export interface TrimMarks {
  /** Trimmed down to this many. */
  low: number
  /** Trimmed above this many. */
  high: number
  /** Peers are spared for this long. */
  graceMs: number
}

/** go-libp2p's connection manager trims at most once a minute. */
const SILENCE_MS = 60_000
/** Where all places are taken: not for every stranger who knocks. */
const RELIEF_PAUSE_MS = 10_000

/**
 * Which peers to close: none up to the high mark; above it down to the low mark, those with a bad score first, then those
 * that came by themselves, the lowest score and the youngest first. Protected and mesh peers never, new ones not yet.
 */
export function chooseToTrim(peers: readonly TrimCandidate[], marks: TrimMarks, nowMs: number): string[] {
  if (peers.length <= marks.high) return []
  return leastWorthy(peers.filter((peer) => nowMs - peer.connectedSinceMs >= marks.graceMs)).slice(
    0,
    peers.length - marks.low,
  )
}

/** When all places are taken: down to the high mark, new ones too. */
export function chooseInNeed(peers: readonly TrimCandidate[], marks: TrimMarks): string[] {
  return leastWorthy(peers).slice(0, Math.max(0, peers.length - marks.high))
}

function leastWorthy(peers: readonly TrimCandidate[]): string[] {
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

/** Looks at the number of connections every half grace time, at most once a minute. */
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
    const tooMany = chooseInNeed(peers, marks)
    logger.info('All places for peers are taken: closing the least worthy', {
      peers: peers.length,
      closed: tooMany.length,
    })
    closeAll(tooMany)
  }
  return {
    start: schedule,
    stop: (): void => cancel?.(),
    /** All places are taken: makes room for those who come next. */
    relieve,
  }
}
