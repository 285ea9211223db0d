import { identify } from '@libp2p/identify'
import type { Libp2p } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { startBareHost } from '../../src/p2p/hostile/bareHost.ts'
import { answerCalls } from '../p2p/calls.ts'

// Many small peers of the measured nodes, in a separate process.

const hosts: Libp2p[] = []

const calls = {
  /** Connects this many peers to each of the addresses. */
  async have({ peers, addresses }: { peers: number; addresses: readonly string[] }): Promise<void> {
    while (hosts.length < peers) {
      const host = await startBareHost({ services: { identify: identify() } })
      for (const address of addresses) await host.dial(multiaddr(address))
      hosts.push(host)
    }
  },
}

export type PeersCalls = typeof calls
answerCalls(calls)
