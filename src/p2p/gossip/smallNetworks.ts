import type { GossipInternals } from './gossipInternals.ts'

/**
 * The library passes a block on to mesh peers only. In a network smaller than the mesh's low mark each lost link would
 * lose blocks until the next lazy gossip, so there everybody gets it; and so does, always, a static peer.
 */
export function serveSmallNetworks(
  target: Pick<GossipInternals, 'selectPeersToForward' | 'mesh' | 'topics'> & {
    score: Pick<GossipInternals['score'], 'score'>
  },
  modules: { isAlwaysServed(peerId: string): boolean },
  options: { meshLow: number; publishThreshold: number },
): { isSmall(topic: string): boolean } {
  const isSmall = (topic: string): boolean => (target.mesh.get(topic)?.size ?? 0) < options.meshLow
  const select = target.selectPeersToForward.bind(target)
  target.selectPeersToForward = (topic, source, exclude) => {
    const chosen = select(topic, source, exclude)
    const small = isSmall(topic)
    for (const id of target.topics.get(topic) ?? []) {
      if (chosen.has(id) || id === source || exclude?.has(id) === true) continue
      if (!small && !modules.isAlwaysServed(id)) continue
      if (target.score.score(id) >= options.publishThreshold) chosen.add(id)
    }
    return chosen
  }
  return { isSmall }
}
