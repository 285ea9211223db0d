import { noise } from '@chainsafe/libp2p-noise'
import { generateKeyPair } from '@libp2p/crypto/keys'
import { identify } from '@libp2p/identify'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { silentComponentLogger } from '../../src/p2p/host/libp2pLogger.ts'
import { answerCalls } from '../p2p/calls.ts'

// Many small peers of the nodes that are measured, in a process of their own.

const hosts: Awaited<ReturnType<typeof startHost>>[] = []

async function startHost() {
  return createLibp2p({
    privateKey: await generateKeyPair('secp256k1'),
    logger: silentComponentLogger,
    addresses: { listen: [] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    connectionMonitor: { enabled: false },
    services: { identify: identify() },
  })
}

const calls = {
  /** Has so many peers connected to each of the addresses. */
  async have({ peers, addresses }: { peers: number; addresses: readonly string[] }): Promise<void> {
    while (hosts.length < peers) {
      const host = await startHost()
      for (const address of addresses) await host.dial(multiaddr(address))
      hosts.push(host)
    }
  },
}

export type PeersCalls = typeof calls
answerCalls(calls)
