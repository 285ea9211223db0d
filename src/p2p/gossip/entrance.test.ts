import type { GossipSubComponents } from '@chainsafe/libp2p-gossipsub'
import type { Connection, PeerId, Stream, StreamHandler, Topology } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { createEntrance } from './entrance.ts'

const PEER = { toString: () => 'peer' } as PeerId
const CONNECTION = { remotePeer: PEER } as Connection
const STREAM = {} as Stream

/** An entrance with a registered library, and a log of the calls on both sides. */
async function setUp() {
  const calls: string[] = []
  const handlers: StreamHandler[] = []
  const topologies: Topology[] = []
  const registrar = {
    async handle(_protocol: string, handler: StreamHandler) {
      handlers.push(handler)
    },
    async register(_protocol: string, topology: Topology) {
      topologies.push(topology)
      return 'id'
    },
  } as GossipSubComponents['registrar']
  const entrance = createEntrance()
  const around = entrance.around(registrar)
  await around.handle('gossip', () => void calls.push('library stream'))
  await around.register('gossip', {
    onConnect: (peer) => void calls.push(`library connect ${peer}`),
    onDisconnect: (peer) => void calls.push(`library disconnect ${peer}`),
  })
  entrance.listen({
    onStream: (peer) => void calls.push(`stream of ${peer}`),
    onRemoved: (peer) => calls.push(`gone ${peer}`),
  })
  return { entrance, calls, handler: handlers[0], topology: topologies[0] }
}

describe('createEntrance', () => {
  it('handles streams instead of the library, after the library has added their peers', async () => {
    const { calls, handler } = await setUp()
    await handler?.(STREAM, CONNECTION)
    expect(calls).toEqual(['library connect peer', 'stream of peer'])
  })

  it('reports connections to the library, and disconnections to the library and to us', async () => {
    const { calls, topology, entrance } = await setUp()
    topology?.onConnect?.(PEER, CONNECTION)
    topology?.onDisconnect?.(PEER)
    entrance.forget(PEER)
    const disconnected = ['library disconnect peer', 'gone peer']
    expect(calls).toEqual(['library connect peer', ...disconnected, ...disconnected])
  })
})
