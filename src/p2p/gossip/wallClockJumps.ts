import type { Around, GossipInternals } from './adapter.ts'

/** What is less is a clock that runs a little fast or slow. */
const LEAST_STEP_MS = 1_000

type Timed = Pick<GossipInternals, 'backoff'> & {
  readonly score: Pick<GossipInternals['score'], 'peerStats' | 'scoreCache'>
  readonly gossipTracer: Pick<GossipInternals['gossipTracer'], 'promises'>
}

/**
 * Gossipsub measures how long things take by the machine's clock. Where that is set, its moments are moved along before
 * its next heartbeat looks at them. Else, set back by ten minutes, scores stand still for as long, so that nobody is
 * banned, and who was pruned stays out of the mesh; set forward, all that peers were asked for is overdue.
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
      // Who came into the mesh since the clock was set has the right time already; time to come would count against it.
      topic.graftTime = Math.min(topic.graftTime + stepMs, nowMs)
    }
  }
  score.scoreCache.clear()
  for (const byPeer of [...gossipTracer.promises.values(), ...backoff.values()]) {
    for (const [peerId, untilMs] of byPeer) byPeer.set(peerId, untilMs + stepMs)
  }
}
