import type { RPC } from '@chainsafe/libp2p-gossipsub/message'
import type { GossipInternals } from './adapter.ts'

type Forwarding = Pick<GossipInternals, 'mesh' | 'topics' | 'floodsubPeers' | 'idontwants' | 'sendRpc'> & {
  score: Pick<GossipInternals['score'], 'score' | 'deliveryRecords'>
}

const NOBODY: ReadonlySet<string> = new Set()

/** Passes blocks of others on. */
export type Forwarder = ReturnType<typeof createForwarder>

/**
 * To whom a block is passed on: the mesh, and always static peers. In a network smaller than the mesh's low mark each lost
 * link would lose blocks until the next lazy gossip, so there everybody gets it. Who sent a copy while it was judged here has it.
 */
export function createForwarder(
  gossip: Forwarding,
  modules: { isAlwaysServed(peerId: string): boolean },
  options: { meshLow: number; publishThreshold: number },
) {
  const isSmall = (topic: string): boolean => (gossip.mesh.get(topic)?.size ?? 0) < options.meshLow

  const wanting = (topic: string): Set<string> => {
    const chosen = new Set(gossip.mesh.get(topic))
    const small = isSmall(topic)
    for (const id of gossip.topics.get(topic) ?? NOBODY) {
      const isServed = small || gossip.floodsubPeers.has(id) || modules.isAlwaysServed(id)
      if (isServed && gossip.score.score(id) >= options.publishThreshold) chosen.add(id)
    }
    return chosen
  }
  return {
    /** The mesh is below its low mark: everybody on the topic gets each block. */
    isSmall,
    /** To all that need it but its sender. `id`: as inside. */
    forward(id: string, message: RPC.Message, from: string): void {
      const have = gossip.score.deliveryRecords.getRecord(id)?.peers ?? NOBODY
      for (const peer of wanting(message.topic)) {
        if (peer === from || have.has(peer) || gossip.idontwants.get(peer)?.has(id) === true) continue
        gossip.sendRpc(peer, { subscriptions: [], messages: [message] })
      }
    },
  }
}
