import type { Connection, PeerId } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import type { P2pOptions } from '../options.ts'
import { nodeInTest } from '../testUtils/inTest.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from '../testUtils/testChain.ts'
import { type TestNode, until } from '../testUtils/testNode.ts'
import { manageGossipStreams } from './gossipStreams.ts'

async function start(options: Partial<P2pOptions> = {}): Promise<TestNode> {
  return nodeInTest(options)
}

describe('a newcomer', () => {
  it('gets the blocks of the last seconds, also one that it missed while it was away', async () => {
    const sequencer = await start({ sequencerKey: SEQUENCER_KEY })
    const first = testBlock(testConfig(), { blockNumber: 1 })
    await sequencer.node.publish(first)
    const follower = await start()
    await follower.node.connectPeer(sequencer.address)
    expect(await follower.block(first.payload.blockHash)).toEqual(first)

    await follower.node.disconnectPeer(sequencer.node.peerId)
    await until('the loss', () => sequencer.node.connectedPeers().length === 0)
    const second = testBlock(testConfig(), { blockNumber: 2 })
    await sequencer.node.publish(second)
    await follower.node.connectPeer(sequencer.address)
    expect(await follower.block(second.payload.blockHash)).toEqual(second)
    const { peers } = await follower.node.peers(true)
    expect(peers[sequencer.node.peerId]?.scores.gossip.behavioralPenalty).toBe(0)
  })
})

/** The library's members that are touched, with streams that the test opens by hand. */
function setUp(connected: string[], naming?: (id: Uint8Array) => Uint8Array | undefined) {
  const waiting = new Map<string, () => void>()
  const told: [string, { topicID: string; messageIDs: Uint8Array[] }][] = []
  const opened: string[] = []
  let status = 'open'
  const closed: string[] = []
  const idOf = (id: string) => ({ toString: () => id }) as PeerId
  const connection = (id: string): Connection => ({ remotePeer: idOf(id), status: 'open' }) as Connection
  const listeners = new Map<string, () => void>()
  const gossip = {
    peers: new Map(connected.map((id) => [id, idOf(id)])),
    topics: new Map<string, Set<string>>(),
    streamsOutbound: new Map<string, { close(): Promise<void>; rawStream: { status: string } }>(),
    mcache: {
      history: [
        [{ msgId: Uint8Array.of(2), msgIdStr: '2', topic: 't' }],
        [{ msgId: Uint8Array.of(1), msgIdStr: '1', topic: 't' }],
      ],
      msgs: new Map([
        ['1', { validated: true }],
        ['2', { validated: true }],
      ]),
    },
    async createOutboundStream(peerId: PeerId, _connection: Connection) {
      const id = peerId.toString()
      await new Promise<void>((resolve) => waiting.set(id, resolve))
      opened.push(id)
      gossip.streamsOutbound.set(id, { close: async () => void closed.push(id), rawStream: { status } })
    },
    handlePeerReadStreamError() {},
    removePeer: () => {},
    pushGossip: (id: string, ihave: { topicID: string; messageIDs: Uint8Array[] }) => void told.push([id, ihave]),
    sendRpc: () => true,
    addEventListener: (type: string, listener: () => void) => listeners.set(type, listener),
  }
  const streams = manageGossipStreams(gossip, {
    logger: silentLogger,
    connectionsOf: (peerId) => [connection(peerId.toString())],
    naming: async () => naming,
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const answer = async (id: string, opensAs = 'open') => {
    await settled()
    status = opensAs
    waiting.get(id)?.()
    await settled()
  }
  return {
    told,
    gossip,
    streams,
    opened,
    closed,
    connection,
    idOf,
    answer,
    heartbeat: () => listeners.get('gossipsub:heartbeat')?.(),
  }
}

describe('manageGossipStreams', () => {
  it('does not keep a peer waiting for the stream of another that does not answer', async () => {
    const { gossip, connection, idOf, answer, opened } = setUp(['mute', 'willing'])
    // As the library does: the next when the one before is done.
    const opening = (async () => {
      for (const id of ['mute', 'willing']) await gossip.createOutboundStream(idOf(id), connection(id))
    })()
    await opening
    await answer('willing')
    expect(opened).toEqual(['willing'])
  })

  it('tells a newcomer of messages by the names that it uses, and of none when those are not known', async () => {
    const named = setUp(['a'], ([id]) => (id === 1 ? Uint8Array.of(101) : undefined))
    const unknown = setUp(['a'])
    for (const { gossip, heartbeat, answer } of [named, unknown]) {
      gossip.topics.set('t', new Set(['a']))
      heartbeat()
      await answer('a')
    }
    expect(named.told).toEqual([['a', { topicID: 't', messageIDs: [Uint8Array.of(101)] }]])
    expect(unknown.told).toEqual([])
  })

  it('moves to the newest connection, and opens a lost stream again', async () => {
    const { streams, connection, answer, opened, closed, gossip, heartbeat } = setUp(['a'])
    heartbeat()
    await answer('a')
    streams.moveTo(connection('a'))
    await answer('a')
    expect([opened, closed]).toEqual([['a', 'a'], ['a']])
    streams.repair('a')
    heartbeat()
    await answer('a')
    expect(opened).toHaveLength(2)
    gossip.streamsOutbound.delete('a')
    streams.repair('a')
    // One at a time.
    heartbeat()
    await answer('a')
    expect(opened).toHaveLength(3)
  })

  it('opens another when one has ended while it was opened', async () => {
    const { answer, opened, gossip, heartbeat } = setUp(['a'])
    heartbeat()
    await answer('a', 'aborted')
    expect(gossip.streamsOutbound.size).toBe(0)
    heartbeat()
    await answer('a')
    expect(opened).toHaveLength(2)
    expect(gossip.streamsOutbound.size).toBe(1)
  })
})
