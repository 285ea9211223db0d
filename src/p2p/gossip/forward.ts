import type { RPC } from '@chainsafe/libp2p-gossipsub/message'
import { loopTurns } from '../../lib/nextTurn.ts'
import { type GossipInternals, subscribersOf } from './adapter.ts'

type Forwarding = Pick<GossipInternals, 'mesh' | 'getSubscribers' | 'idontwants' | 'sendRpc'> & {
  streamsOutbound: ReadonlyMap<string, { rawStream: { protocol: string } }>
  score: Pick<GossipInternals['score'], 'score' | 'deliveryRecords'>
}

const FLOODSUB = '/floodsub/1.0.0'
const NO_PEERS: ReadonlySet<string> = new Set()
/**
 * A copy that is probably not needed waits this many iterations of the event loop. Copies and IDONTWANTs that arrive
 * meanwhile can make it unnecessary.
 */
const LATER_TURNS = 2

export type Forwarder = ReturnType<typeof createForwarder>

/**
 * Chooses the peers that receive a block: the mesh and all static peers. In a network smaller than the mesh's low mark,
 * every subscriber receives it; there each lost link would lose blocks until the next lazy gossip. A peer that sent us
 * a copy during validation already has the block. A chain has one sequencer, so blocks take similar paths. A peer that
 * sent a copy of the last block probably has this block too, and is served last.
 */
export function createForwarder(
  gossip: Forwarding,
  modules: { isAlwaysServed(peerId: string): boolean },
  options: { meshLow: number; publishThreshold: number },
) {
  const isSmall = (topic: string): boolean => (gossip.mesh.get(topic)?.size ?? 0) < options.meshLow

  /** A floodsub peer is in no mesh and receives everything. */
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
    (id === undefined ? undefined : gossip.score.deliveryRecords.getRecord(id)?.peers) ?? NO_PEERS
  const send = (id: string, message: RPC.Message, peers: ReadonlySet<string>): number => {
    const have = sendersOf(id)
    let sent = 0
    for (const peer of peers) {
      if (have.has(peer) || gossip.idontwants.get(peer)?.has(id) === true) continue
      if (gossip.sendRpc(peer, { subscriptions: [], messages: [message] })) sent++
    }
    return sent
  }
  /** Topic → id of the last forwarded message. */
  const lastOf = new Map<string, string>()
  return {
    /** Sends to all peers that need the message, except its sender. `id`: internal form. */
    async forward(id: string, message: RPC.Message, from: string): Promise<void> {
      const peers = wanting(message.topic)
      peers.delete(from)
      const later = peers.intersection(sendersOf(lastOf.get(message.topic)))
      lastOf.set(message.topic, id)
      send(id, message, peers.difference(later))
      await loopTurns(LATER_TURNS)
      send(id, message, later)
    },
    /** Sends an own message to those outside the mesh that need it, except `chosen`. Returns their number. */
    sendToOthers(id: string, message: RPC.Message, chosen: ReadonlySet<string>): number {
      const others = wanting(message.topic).difference(gossip.mesh.get(message.topic) ?? NO_PEERS)
      return send(id, message, others.difference(chosen))
    },
  }
}
