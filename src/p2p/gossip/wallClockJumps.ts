import type { Around, GossipInternals } from './adapter.ts'

/** A smaller step is only clock drift. */
const LEAST_STEP_MS = 1_000

type Timed = Pick<GossipInternals, 'backoff'> & {
  readonly score: Pick<GossipInternals['score'], 'peerStats' | 'scoreCache'>
  readonly gossipTracer: Pick<GossipInternals['gossipTracer'], 'promises'>
}

/**
 * Gossipsub measures durations by the wall clock. When the clock is set, this wrapper shifts gossipsub's stored times
 * before the next heartbeat. Otherwise a clock set back by ten minutes would freeze scores and backoffs for that time,
 * so that no peer is banned. A clock set forward would make all pending promises overdue.
 */
export function followWallClock(
  gossip: Timed,
  wallMs: () => number = () => Date.now(),
  steadyMs: () => number = () => performance.now(),
): Around<GossipInternals, 'heartbeat'> {
  let offsetMs = wallMs() - steadyMs()
  return (heartbeat) => () => {
    const stepMs = wallMs() - steadyMs() - offsetMs
    offsetMs += stepMs
    if (Math.abs(stepMs) >= LEAST_STEP_MS) moveMoments(gossip, stepMs, wallMs())
    return heartbeat()
  }
}

function moveMoments({ score, gossipTracer, backoff }: Timed, stepMs: number, nowMs: number): void {
  for (const counters of score.peerStats.values()) {
    counters.expire += stepMs
    for (const topic of Object.values(counters.topics)) {
      // A peer grafted after the clock was set has the right time already. A time in the future would count against it.
      topic.graftTime = Math.min(topic.graftTime + stepMs, nowMs)
    }
  }
  score.scoreCache.clear()
  for (const byPeer of [...gossipTracer.promises.values(), ...backoff.values()]) {
    for (const [peerId, untilMs] of byPeer) byPeer.set(peerId, untilMs + stepMs)
  }
}
