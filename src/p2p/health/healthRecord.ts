import type { Clock } from '../../lib/clock.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type {
  GossipBlock,
  HeadEvent,
  HeadMove,
  HeadSource,
  HealthReport,
  RefusedBlock,
  StaticPeerHealth,
} from '../base/healthReport.ts'
import type { Verdict } from '../base/verdict.ts'
import { CLOSED_EARLY, closedEarlyText, STABLE_MS } from '../peers/staticPeers.ts'
import { createRecentCounts } from './recentCounts.ts'

/** Counts arriving blocks, refused blocks and head moves. The node writes the record, the health report reads it. */
export type HealthRecord = ReturnType<typeof createHealthRecord>

/** Range of the counts in a report. */
export const RECENT_MS = 5 * 60_000
/** Blocks whose source is remembered: more than the request queue of a gap holds. */
const REMEMBERED_BLOCKS = 1_024
/** Number of event times that are kept: as many as an assessment needs. */
const KEPT_TIMES = 3
const NO_MOVES: Record<HeadSource, null> = { gossip: null, request: null, posted: null, l1: null, sequencer: null }

export function createHealthRecord(clock: Clock, staticIds: readonly string[]) {
  const refused = createRecentCounts(clock, RECENT_MS)
  const events = createRecentCounts(clock, RECENT_MS)
  const ways = new LruMap<string, 'gossip' | 'request'>(REMEMBERED_BLOCKS)
  const acceptedAtMs: number[] = []
  const refusedAtMs: number[] = []
  const staticPeers = new Map<string, StaticPeerHealth>(
    staticIds.map((peerID) => [peerID, { peerID, connected: false, sinceMs: clock.now(), failure: null }]),
  )
  const lastMoves: Record<HeadSource, HeadMove | null> = { ...NO_MOVES }
  const l1Only: HealthReport['l1Only'] = { count: 0, sinceMs: null }
  let head: HeadMove | null = null
  let lastBlock: GossipBlock | null = null
  let lastRefused: RefusedBlock | null = null

  const keepTime = (times: number[], atMs: number): void => {
    times.push(atMs)
    if (times.length > KEPT_TIMES) times.shift()
  }
  /** Times in the future are from before the clock was set back. */
  const countSince = (times: readonly number[], sinceMs: number): number =>
    times.filter((atMs) => atMs > sinceMs && atMs <= clock.now()).length
  const sourceOf = ({ movedBy, hash }: HeadEvent): HeadSource => {
    if (movedBy === 'payload') return ways.get(hash) ?? 'posted'
    return movedBy === 'sequencer' ? 'sequencer' : 'l1'
  }
  /** Begin of the downtime before the peer's current or last connection. */
  const downSinceMs = new Map<string, number>()
  const onStatic = (peerID: string, connected: boolean, failure: StaticPeerHealth['failure']): void => {
    const known = staticPeers.get(peerID)
    if (known === undefined) return
    let sinceMs = known.connected === connected ? known.sinceMs : clock.now()
    if (connected && !known.connected) downSinceMs.set(peerID, known.sinceMs)
    // A peer that refuses us is connected for a moment at each dial. That does not end the downtime.
    if (!connected && known.connected && clock.now() - known.sinceMs < STABLE_MS) {
      sinceMs = downSinceMs.get(peerID) ?? sinceMs
    }
    staticPeers.set(peerID, { peerID, connected, sinceMs, failure })
  }

  return {
    onVerdict(from: string, verdict: Verdict): void {
      const atMs = clock.now()
      if (verdict.result === 'accept') {
        const { blockNumber: number, blockHash: hash } = verdict.envelope.payload
        lastBlock = { number, hash, peerID: from, atMs }
        keepTime(acceptedAtMs, atMs)
        events.add('accepted')
        if (ways.get(hash) === undefined) ways.set(hash, 'gossip')
        return
      }
      // The block itself was accepted before.
      if (verdict.reason === 'already-seen') return
      const detail = 'detail' in verdict ? (verdict.detail ?? null) : null
      const { number = null, hash = null } = verdict.block ?? {}
      lastRefused = { reason: verdict.reason, detail, number, hash, peerID: from, atMs }
      keepTime(refusedAtMs, atMs)
      refused.add(verdict.reason)
    },
    onRequested({ payload }: PayloadEnvelope): void {
      if (ways.get(payload.blockHash) === undefined) ways.set(payload.blockHash, 'request')
    },
    onHead(event: HeadEvent): void {
      const move = { number: event.number, hash: event.hash, atMs: clock.now() }
      const isAdvance = head === null || event.number > head.number
      head = move
      // A head that was found or reset is not a block that arrived.
      if (event.movedBy === 'reset' || !isAdvance) return
      const source = sourceOf(event)
      lastMoves[source] = move
      events.add(source)
      l1Only.count = source === 'l1' ? l1Only.count + 1 : 0
      l1Only.sinceMs = source === 'l1' ? Math.min(l1Only.sinceMs ?? move.atMs, move.atMs) : null
    },
    onConnected: (peerId: string): void => onStatic(peerId, true, null),
    onDisconnected(peerId: string, end: { by: 'us' | 'peer'; cause: string }): void {
      const atMs = clock.now()
      const stoodMs = atMs - (staticPeers.get(peerId)?.sinceMs ?? 0)
      if (end.by === 'peer' && stoodMs < STABLE_MS) {
        onStatic(peerId, false, { reason: CLOSED_EARLY, text: closedEarlyText(stoodMs), atMs })
        return
      }
      const text = `${end.by === 'us' ? 'this node' : 'the peer'} ended the connection: ${end.cause}`
      onStatic(peerId, false, { reason: 'disconnected', text, atMs })
    },
    onDialFailed(peerId: string, { reason, text }: { reason: string; text: string }): void {
      if (staticPeers.get(peerId)?.connected === false) onStatic(peerId, false, { reason, text, atMs: clock.now() })
    },
    lastBlock: () => lastBlock,
    lastRefused: () => lastRefused,
    /** Number of accepted, or refused, blocks since then; at most `KEPT_TIMES`. */
    acceptedSince: (sinceMs: number): number => countSince(acceptedAtMs, sinceMs),
    refusedSince: (sinceMs: number): number => countSince(refusedAtMs, sinceMs),
    facts() {
      const { accepted = 0, gossip = 0, request = 0, posted = 0, l1 = 0, sequencer = 0 } = events.totals()
      return {
        staticPeers: [...staticPeers.values()],
        lastBlock,
        lastRefused,
        recent: {
          seconds: RECENT_MS / 1000,
          accepted,
          refused: refused.totals(),
          headMoves: { gossip, request, posted, l1, sequencer },
        },
        head,
        lastMoves: { ...lastMoves },
        l1Only: { ...l1Only },
      }
    },
  }
}
