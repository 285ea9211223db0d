import { type GossipSub, gossipsub, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { generateKeyPair } from '@libp2p/crypto/keys'
import { type Identify, identify } from '@libp2p/identify'
import type { Libp2p } from '@libp2p/interface'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { silentComponentLogger } from '../host/libp2pLogger.ts'
import { until } from './testNode.ts'

/** A peer that obeys no rule of ours: bare libp2p and gossipsub, publishing whatever bytes it is given. */
export interface RawPeer {
  host: Libp2p<{ identify: Identify; pubsub: GossipSub }>
  peerId: string
  connect(address: string): Promise<void>
  /** To every peer on the topic. */
  publish(topic: string, data: Uint8Array): Promise<void>
  stop(): Promise<void>
}

export async function startRawPeer(topics: readonly string[]): Promise<RawPeer> {
  let serial = 0
  const host = await createLibp2p({
    privateKey: await generateKeyPair('secp256k1'),
    logger: silentComponentLogger,
    addresses: { listen: [] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    connectionMonitor: { enabled: false },
    services: {
      identify: identify(),
      pubsub: gossipsub({
        globalSignaturePolicy: StrictNoSign,
        floodPublish: true,
        allowPublishToZeroTopicPeers: true,
        // A new id each time, so that nothing is held back as a duplicate.
        msgIdFn: () => Uint8Array.from(Buffer.from(`raw-${serial++}`)),
      }),
    },
  })
  for (const topic of topics) host.services.pubsub.subscribe(topic)
  return {
    host,
    peerId: host.peerId.toString(),
    async connect(address) {
      await host.dial(multiaddr(address))
      const subscribed = (topic: string): boolean => host.services.pubsub.getSubscribers(topic).length > 0
      await until('subscriptions', () => topics.every(subscribed))
    },
    async publish(topic, data) {
      await host.services.pubsub.publish(topic, data)
    },
    stop: async () => host.stop(),
  }
}
