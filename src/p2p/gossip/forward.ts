import type { RPC } from '@chainsafe/libp2p-gossipsub/message'
import { loopTurns } from '../../lib/nextTurn.ts'
import { type GossipInternals, subscribersOf } from './adapter.ts'

type Forwarding = Pick<GossipInternals, 'mesh' | 'getSubscribers' | 'idontwants' | 'sendRpc'> & {
  streamsOutbound: ReadonlyMap<string, { rawStream: { protocol: string } }>
  score: Pick<GossipInternals['score'], 'score' | 'deliveryRecords'>
}

const FLOODSUB = '/floodsub/1.0.0'
const NOBODY: ReadonlySet<string> = new Set()
/** Turns of the event loop that a copy waits which is most likely not needed: what has come meanwhile is read. */
const LATER_TURNS = 2

/** Passes blocks of others on. */
export type Forwarder = ReturnType<typeof createForwarder>

/**
 * To whom a block is passed on: the mesh, and always static peers. In a network smaller than the mesh's low mark each lost
 * link would lose blocks until the next lazy gossip, so there everybody gets it. Who sent a copy while it was judged here has it.
 * A chain has one sequencer, whose blocks come much the same way each time: who sent a copy of the last one will most likely
 * have this one from elsewhere too, and goes last.
 */
export function createForwarder(
  gossip: Forwarding,
  modules: { isAlwaysServed(peerId: string): boolean },
  options: { meshLow: number; publishThreshold: number },
) {
  const isSmall = (topic: string): boolean => (gossip.mesh.get(topic)?.size ?? 0) < options.meshLow

  /** Such a peer is in no mesh, and gets everything. */
  const isFloodsub = (id: string) => gossip.streamsOutbound.get(id)?.rawStream.protocol === FLOODSUB
  const wanting = (topic: string): Set<string> => {
    const chosen = new Set(gossip.mesh.get(topic))
    const small = isSmall(topic)
    for (const id of subscribersOf(gossip, topic)) {
      const isServed = small || isFloodsub(id) || modules.isAlwaysServed(id)
      if (isServed && gossip.score.score(id) >= options.publishThreshold) chosen.add(id)
    }
    return chosen
  }
  const sendersOf = (id: string | undefined): ReadonlySet<string> =>
    (id === undefined ? undefined : gossip.score.deliveryRecords.getRecord(id)?.peers) ?? NOBODY
  const send = (id: string, message: RPC.Message, peers: ReadonlySet<string>): void => {
    const have = sendersOf(id)
    for (const peer of peers) {
      if (have.has(peer) || gossip.idontwants.get(peer)?.has(id) === true) continue
      gossip.sendRpc(peer, { subscriptions: [], messages: [message] })
    }
  }
  /** Topic → id of what was passed on last. */
  const lastOf = new Map<string, string>()
  return {
    /** The mesh is below its low mark: everybody on the topic gets each block. */
    isSmall,
    /** To all that need it but its sender. `id`: as inside. */
    async forward(id: string, message: RPC.Message, from: string): Promise<void> {
      const peers = wanting(message.topic)
      peers.delete(from)
      const later = peers.intersection(sendersOf(lastOf.get(message.topic)))
      lastOf.set(message.topic, id)
      send(id, message, peers.difference(later))
      await loopTurns(LATER_TURNS)
      send(id, message, later)
    },
  }
}
