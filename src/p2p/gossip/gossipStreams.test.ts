import { type Connection, type PeerId, StreamCloseEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { until } from '../../lib/testUtils/until.ts'
import { unhurriedClock } from '../testUtils/clocks.ts'
import { nodeInTest } from '../testUtils/inTest.ts'
import { networkInTest } from '../testUtils/network.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from '../testUtils/testChain.ts'
import type { OutboundStream, OutgoingRpc } from './adapter.ts'
import { manageGossipStreams } from './gossipStreams.ts'

describe('a new peer', () => {
  it('gets the blocks of the last seconds, also a block that it missed while disconnected', async () => {
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const first = testBlock(testConfig(), { blockNumber: 1 })
    await sequencer.node.publish(first)
    const follower = await nodeInTest()
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

  it('gets missed blocks from any peer that has them, except blocks too old to accept', async () => {
    const nowMs = Date.now()
    // The clock is stopped: the ages of the blocks must not change meanwhile.
    const clock = { ...unhurriedClock(), now: () => nowMs }
    const [sequencer, other] = await networkInTest(1, {}, { clock })
    const nowS = Math.floor(nowMs / 1000)
    const blocks = [50, 40, 0].map((ageS, n) => testBlock(testConfig(), { blockNumber: n + 1, timestamp: nowS - ageS }))
    for (const block of blocks) await sequencer.node.publish(block)
    await until('the blocks', () => other.received.length === 3)
    await sequencer.node.stop()
    const newPeer = await nodeInTest({}, { clock })
    await newPeer.node.connectPeer(other.address)
    await until('the blocks', () => newPeer.received.length === 2)
    expect(newPeer.received.map(({ payload }) => payload.blockNumber).sort()).toEqual([2, 3])
  })
})

const OP_NODE = ['/opstack/req/payload_by_number/10/0']
const RUST = ['/ipfs/id/1.0.0', '/opstack/req/payload_by_number/10/0/']

/** The library members that the code uses. The test opens the streams. */
function setUp(connected: string[], protocols: string[] = [], history = [2, 1], { perSecond = 1 } = {}) {
  const clock = new ManualClock(0)
  const cached = history.map((id) => ({ msgId: Uint8Array.of(id), msgIdStr: String(id), topic: 't' }))
  const waiting = new Map<string, () => void>()
  const announced: [string, Uint8Array[]][] = []
  /** First bytes of the ids in each RPC. */
  const sent: number[][] = []
  const opened: string[] = []
  const openedOn: Connection[] = []
  const subscribed: { id: string; topic: string }[] = []
  const readProtocols = { run: async () => protocols }
  let status = 'open'
  const closed: string[] = []
  const onClose: ((event: StreamCloseEvent) => void)[] = []
  const forgotten: string[] = []
  const slow: string[] = []
  const connections: Connection[] = []
  const idOf = (id: string) => ({ toString: () => id }) as PeerId
  const connection = (id: string): Connection => ({ remotePeer: idOf(id), status: 'open' }) as Connection
  type Listener = (event: CustomEvent<{ peerId: PeerId }>) => void
  const listeners = new Map<string, Listener>()
  const gossip = {
    getPeers: () => connected.map(idOf),
    getTopics: () => ['t', 'u'],
    getSubscribers: (of: string) => subscribed.filter(({ topic }) => topic === of).map(({ id }) => idOf(id)),
    streamsOutbound: new Map<string, OutboundStream>(),
    async createOutboundStream(peerId: PeerId, on: Connection) {
      const id = peerId.toString()
      if (gossip.streamsOutbound.has(id)) return
      openedOn.push(on)
      await new Promise<void>((resolve) => waiting.set(id, resolve))
      opened.push(id)
      if (status === 'none') return
      gossip.streamsOutbound.set(id, {
        close: async () => void closed.push(id),
        rawStream: {
          ...{ status, protocol: '' },
          addEventListener: (type, listener) => void (type === 'close' && onClose.push(listener)),
        },
      })
    },
    sendRpc: (id: string, { control }: OutgoingRpc) => {
      const ihave = control?.ihave ?? []
      for (const { messageIDs } of ihave) announced.push([id, messageIDs])
      sent.push(ihave.flatMap(({ messageIDs }) => messageIDs.map(([byte]) => byte ?? 0)))
      return true
    },
    addEventListener: (type: string, listener: Listener) => void listeners.set(type, listener),
  }
  const streams = manageGossipStreams(gossip, gossip, {
    forget: (peerId) => forgotten.push(peerId.toString()),
    onSlowReader: (id) => slow.push(id),
    clock,
    logger: silentLogger,
    connectionsOf: (peerId) => (connections.length > 0 ? connections : [connection(peerId.toString())]),
    protocolsOf: () => readProtocols.run(),
    history: (maxAgeS) => (maxAgeS === undefined ? cached : cached.slice(0, maxAgeS * perSecond)),
  })
  gossip.createOutboundStream = streams.createOutboundStream(gossip.createOutboundStream)
  const answer = async (id: string, opensAs = 'open') => {
    await nextTurn()
    status = opensAs
    waiting.get(id)?.()
    await nextTurn()
  }
  const heartbeat = () =>
    listeners.get('gossipsub:heartbeat')?.(new CustomEvent('heartbeat', { detail: { peerId: idOf('') } }))
  return {
    announced,
    sent,
    cached,
    clock,
    gossip,
    streams,
    opened,
    openedOn,
    closed,
    onClose,
    forgotten,
    slow,
    connections,
    connection,
    idOf,
    answer,
    heartbeat,
    readProtocols,
    subscribe(id: string, topic = 't') {
      subscribed.push({ id, topic })
      listeners.get('subscription-change')?.(new CustomEvent('subscription-change', { detail: { peerId: idOf(id) } }))
    },
    /** `a` subscribes, and its stream opens. */
    async come() {
      subscribed.push({ id: 'a', topic: 't' })
      heartbeat()
      await answer('a')
    },
  }
}

describe('manageGossipStreams', () => {
  it('opens the stream of a peer while another peer does not answer', async () => {
    const { gossip, connection, idOf, answer, opened } = setUp(['mute', 'willing'])
    // As the library does: it opens the next stream after the one before.
    const opening = (async () => {
      for (const id of ['mute', 'willing']) await gossip.createOutboundStream(idOf(id), connection(id))
    })()
    await opening
    await answer('willing')
    expect(opened).toEqual(['willing'])
  })

  it('announces the blocks of the last five seconds to Rust nodes, in order, each in its own RPC', async () => {
    const { sent, clock, come } = setUp(['a'], RUST, [9, 8, 7, 6, 5, 4, 3, 2, 1])
    await come()
    await clock.advance(10_000)
    expect(sent).toEqual([[5], [6], [7], [8], [9]])
  })

  it('announces only the newest blocks, at most as many as Rust nodes accept', async () => {
    // Two blocks a second, as when a sequencer catches up after a pause.
    const { sent, come } = setUp(['a'], RUST, [9, 8, 7, 6, 5, 4, 3, 2, 1], { perSecond: 2 })
    await come()
    expect(sent).toEqual([[2], [3], [4], [5], [6], [7], [8], [9]])
  })

  it.each([
    ['op-node', OP_NODE],
    ['a node without requests, as op-node has been since v1.20', []],
  ])(
    'announces the newest block to %s, then older blocks from the oldest on, a few at a time',
    async (_, protocols) => {
      const { announced, cached, clock, gossip, come } = setUp(['a'], protocols, [9, 8, 7, 6, 5, 4, 3, 2, 1])
      await come()
      const ids = () => announced.splice(0).map(([, messageIDs]) => messageIDs[0]?.[0])
      expect(ids()).toEqual([9, 1, 2, 3])
      await clock.advance(499)
      expect(ids()).toEqual([])
      // A message that left the history cannot be sent.
      cached.splice(
        cached.findIndex(({ msgIdStr }) => msgIdStr === '4'),
        1,
      )
      await clock.advance(1)
      expect(ids()).toEqual([5])
      await clock.advance(250)
      expect(ids()).toEqual([6, 7])
      gossip.streamsOutbound.delete('a')
      await clock.advance(1_000)
      expect(ids()).toEqual([])
    },
  )

  it.each(['aborted', 'none'])('opens another stream when the first ended during its opening: %s', async (status) => {
    const { answer, opened, gossip, heartbeat } = setUp(['a'])
    heartbeat()
    await answer('a', status)
    expect(gossip.streamsOutbound.size).toBe(0)
    heartbeat()
    await answer('a')
    expect(opened).toHaveLength(2)
    expect(gossip.streamsOutbound.size).toBe(1)
  })

  it('keeps a stream that is closing', async () => {
    const { answer, gossip, heartbeat } = setUp(['a'])
    heartbeat()
    await answer('a', 'closing')
    expect(gossip.streamsOutbound.size).toBe(1)
  })

  it('listens once to a stream that the library keeps', async () => {
    const { come, gossip, idOf, connection, onClose } = setUp(['a'])
    await come()
    await gossip.createOutboundStream(idOf('a'), connection('a'))
    await nextTurn()
    expect(onClose).toHaveLength(1)
  })

  it('moves the stream of a peer to its newest connection', async () => {
    const { streams, connection, come, answer, gossip, openedOn, closed, announced } = setUp(['a'], OP_NODE, [1])
    await come()
    const [first] = gossip.streamsOutbound.values()
    const newest = connection('a')
    streams.moveTo(newest)
    expect(closed).toEqual(['a'])
    expect(gossip.streamsOutbound.size).toBe(0)
    streams.moveTo(newest)
    await answer('a')
    expect(openedOn.at(-1)).toBe(newest)
    expect(gossip.streamsOutbound.size).toBe(1)
    expect(gossip.streamsOutbound.get('a')).not.toBe(first)
    // The earlier stream may have lost what it carried.
    expect(announced).toHaveLength(2)
    streams.moveTo(connection('stranger'))
    await answer('stranger')
    expect(openedOn).toHaveLength(2)
  })

  it('opens a missing stream on the newest open connection, once', async () => {
    const { streams, connections, connection, answer, heartbeat, openedOn } = setUp(['a'])
    const closing = Object.assign(connection('a'), { status: 'closing' })
    const newest = connection('a')
    connections.push(connection('a'), newest, closing)
    streams.repair('a')
    streams.repair('a')
    heartbeat()
    await answer('a')
    streams.repair('a')
    streams.repair('stranger')
    await answer('a')
    expect(openedOn).toEqual([newest])
    expect(openedOn[0]).toBe(newest)
  })

  it('waits for a connection that is open', async () => {
    const { connections, connection, answer, heartbeat, openedOn } = setUp(['a'])
    connections.push(Object.assign(connection('a'), { status: 'closed' }))
    heartbeat()
    await answer('a')
    expect(openedOn).toEqual([])
  })

  it('reports a peer whose stream ended because it did not read', async () => {
    const { come, onClose, slow } = setUp(['a'])
    await come()
    const end = (error?: Error) => onClose[0]?.(new StreamCloseEvent(false, error))
    end()
    end(new Error('reset'))
    expect(slow).toEqual([])
    end(Object.assign(new Error('full'), { name: 'StreamBufferError' }))
    expect(slow).toEqual(['a'])
  })

  it('makes the library forget a peer that it knows', () => {
    const { streams, forgotten } = setUp(['a'])
    streams.forget('a')
    streams.forget('stranger')
    expect(forgotten).toEqual(['a'])
  })

  it('announces blocks once the peer has subscribed, once for each stream', async () => {
    const { announced, heartbeat, answer, subscribe } = setUp(['a'], OP_NODE, [1])
    heartbeat()
    await answer('a')
    expect(announced).toEqual([])
    for (let count = 0; count < 2; count++) {
      subscribe('a')
      await nextTurn()
    }
    expect(announced).toEqual([['a', [Uint8Array.of(1)]]])
  })

  it('announces only blocks of topics that the peer has subscribed to', async () => {
    const { announced, cached, subscribe, heartbeat, answer } = setUp(['a'], OP_NODE, [2, 1])
    cached.splice(0, 1, { msgId: Uint8Array.of(3), msgIdStr: '3', topic: 'u' })
    subscribe('a', 't')
    heartbeat()
    await answer('a')
    expect(announced).toEqual([['a', [Uint8Array.of(1)]]])
  })

  it('announces nothing on a stream that ended while the protocols of the peer were read', async () => {
    const { sent, gossip, readProtocols, come } = setUp(['a'], RUST, [1])
    readProtocols.run = async () => {
      gossip.streamsOutbound.delete('a')
      return RUST
    }
    await come()
    expect(sent).toEqual([])
  })

  it('takes a node whose protocols cannot be read for no Rust node', async () => {
    const { sent, readProtocols, come } = setUp(['a'], [], [3, 2, 1])
    readProtocols.run = () => Promise.reject(new Error('unknown peer'))
    await come()
    expect(sent).toEqual([[3, 1, 2]])
  })

  it('takes a node that serves both forms of requests for no Rust node', async () => {
    const { sent, come } = setUp(['a'], [...OP_NODE, ...RUST], [3, 2, 1])
    await come()
    expect(sent).toEqual([[3, 1, 2]])
  })
})
