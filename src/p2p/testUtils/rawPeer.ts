import { type GossipSub, gossipsub, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import { type Identify, identify } from '@libp2p/identify'
import type { Libp2p } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { until } from '../../lib/testUtils/until.ts'
import { gossipInternals } from '../gossip/adapter.ts'
import { startBareHost } from '../hostile/bareHost.ts'
import { idText, messageId, unpackMessage } from '../inspection/messageId.ts'

/** A peer without our rules: plain libp2p and gossipsub that publish any bytes. */
export interface RawPeer {
  host: Libp2p<{ identify: Identify; pubsub: GossipSub }>
  peerId: string
  connect(address: string): Promise<void>
  /** Sends to every peer on the topic. */
  publish(topic: string, data: Uint8Array): Promise<void>
  /**
   * Sends different messages that are not snappy, in one RPC: a node reads no further RPC of a peer whose score these have
   * lowered too far.
   */
  publishDamaged(topic: string, count: number): void
  /** Stores the message without sending it. Its next heartbeats announce it. */
  hold(topic: string, data: Uint8Array): void
  /** The peer's behaviour penalty as this peer counts it. */
  behaviourPenaltyOf(peerId: string): number
  stop(): Promise<void>
}

/** With `hasRealIds` it computes ids as an honest peer does, and announces its messages. */
export async function startRawPeer(
  topics: readonly string[],
  options: { hasRealIds?: boolean; userAgent?: string } = {},
): Promise<RawPeer> {
  const { hasRealIds = false, userAgent } = options
  let serial = 0
  const host = await startBareHost({
    ...(userAgent === undefined ? {} : { nodeInfo: { userAgent } }),
    services: {
      identify: identify(),
      pubsub: gossipsub({
        globalSignaturePolicy: StrictNoSign,
        floodPublish: true,
        allowPublishToZeroTopicPeers: true,
        // Announced with an invented id, a message would be requested and judged once more.
        ...(hasRealIds ? { heartbeatInterval: 200 } : { Dlazy: 0, gossipFactor: 0 }),
        msgIdToStrFn: idText,
        // Otherwise a new id each time, so that nothing is dropped as a duplicate.
        msgIdFn: ({ topic, data }) =>
          hasRealIds ? messageId(topic, data, unpackMessage(data)) : Uint8Array.from(Buffer.from(`raw-${serial++}`)),
      }),
    },
  })
  for (const topic of topics) host.services.pubsub.subscribe(topic)
  return {
    host,
    peerId: host.peerId.toString(),
    async connect(address) {
      await host.dial(multiaddr(address))
      const { pubsub } = host.services
      const { streamsOutbound } = gossipInternals(pubsub)
      // The other side's stream may open first. Messages would be lost until this peer's stream is open too.
      const isReady = (topic: string): boolean =>
        pubsub.getSubscribers(topic).some((peer) => streamsOutbound.has(peer.toString()))
      await until('subscriptions', () => topics.every(isReady))
    },
    async publish(topic, data) {
      const { recipients } = await host.services.pubsub.publish(topic, data)
      if (recipients.length === 0) throw new Error('a message was sent to no peer')
    },
    publishDamaged(topic, count) {
      const gossip = gossipInternals(host.services.pubsub)
      const messages = Array.from({ length: count }, (_, n) => ({ topic, data: Uint8Array.of(5, 0x10, 1, n) }))
      for (const peerId of gossip.streamsOutbound.keys()) gossip.sendRpc(peerId, { messages })
    },
    hold(topic, data) {
      const msgId = messageId(topic, data, unpackMessage(data))
      const msgIdStr = idText(msgId)
      const { seenCache, mcache } = gossipInternals(host.services.pubsub)
      seenCache.put(msgIdStr)
      mcache.put({ msgId, msgIdStr }, { topic, data }, true)
    },
    behaviourPenaltyOf: (peerId) =>
      gossipInternals(host.services.pubsub).score.peerStats.get(peerId)?.behaviourPenalty ?? 0,
    stop: async () => host.stop(),
  }
}
