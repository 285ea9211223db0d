import { gossipsub, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import { identify } from '@libp2p/identify'
import type { Libp2p } from '@libp2p/interface'
import { ping } from '@libp2p/ping'
import { multiaddr } from '@multiformats/multiaddr'
import { startBareHost } from '../../src/p2p/hostile/bareHost.ts'
import { messageId, unpackMessage } from '../../src/p2p/inspection/messageId.ts'
import { answerCalls } from '../p2p/calls.ts'

// The peers of the measured node, each with its own mesh, in a separate process.

const hosts: Libp2p[] = []

const calls = {
  /** Adds this many peers, which receive blocks of the topic from the node. */
  async add({ peers, address, topic }: { peers: number; address: string; topic: string }): Promise<void> {
    for (let added = 0; added < peers; added++) {
      const host = await startBareHost({
        nodeInfo: { userAgent: `bench/${added % 7}` },
        services: {
          identify: identify(),
          ping: ping(),
          pubsub: gossipsub({
            globalSignaturePolicy: StrictNoSign,
            allowPublishToZeroTopicPeers: true,
            msgIdFn: (message) => messageId(message.topic, message.data, unpackMessage(message.data)),
          }),
        },
      })
      host.services.pubsub.subscribe(topic)
      await connect(host, address)
      hosts.push(host)
    }
  },
}

/** Retries, because handshakes are slow on a busy machine and both sides time out. */
async function connect(host: Libp2p, address: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await host.dial(multiaddr(address))
      return
    } catch (error) {
      if (tries === 20) throw error
    }
  }
}

export type PagePeersCalls = typeof calls
answerCalls(calls)
