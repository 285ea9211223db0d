import type { PeerId, Stream } from '@libp2p/interface'
import { StreamMessageEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { ManualClock } from '../../lib/clock.ts'
import { createPeerConduct } from '../score/conduct.ts'
import { compressSnappy } from '../snappyBlock.ts'
import { type AnyRpc, encodeRpc, frameRpc } from '../testUtils/rpcCodec.ts'
import { guardGossip } from './guard.ts'

const TOPIC = '/optimism/901/2/blocks'

interface SeenRpc {
  messages: { topic: string; data?: Uint8Array }[]
  subscriptions: unknown[]
  control?: { ihave: { messageIDs: Uint8Array[] }[]; prune: { backoff?: number }[] }
}

/**
 * A stream that a test writes to, and a peer's name: what the guard looks at of both, which the library's types hold
 * more of.
 */
function peer(name: string) {
  const stream = Object.assign(new EventTarget(), {
    aborted: false,
    abort() {
      stream.aborted = true
    },
    close: async () => {},
  })
  const id = { toString: () => name }
  const send = (...rpcs: AnyRpc[]) =>
    stream.dispatchEvent(new StreamMessageEvent(concatBytes(...rpcs.map((rpc) => frameRpc(encodeRpc(rpc))))))
  return {
    id: id as unknown as PeerId,
    stream,
    asStream: stream as unknown as Stream,
    send,
  }
}

/** As much of gossipsub as the guard touches, which decodes by the library. */
async function setUp(options: { score?: number } = {}) {
  const { RPC } = await import('@chainsafe/libp2p-gossipsub/message')
  const clock = new ManualClock(1_000)
  const seen: SeenRpc[] = []
  const offences: string[] = []
  /** Of each message with one, who sent it, and its topic. */
  const authors: string[] = []
  /** Messages under judgement, to be let go. */
  const judging: { from: string; done(): void }[] = []
  /** Sender, id and topic of what was counted as a copy. */
  const copies: string[] = []
  const kept: string[] = []
  const seenIds = new Set<string>()
  const peers = new Map<string, PeerId>()
  const target = {
    peers,
    streamsInbound: new Map(),
    streamsOutbound: new Map(),
    score: {
      score: () => options.score ?? 0,
      rejectInvalidMessage: () => {},
      duplicateMessage(...copy: [string, string, string]) {
        copies.push(copy.join(' '))
        guard.onKnown(copy[0])
      },
    },
    seenCache: seenIds,
    gossipTracer: { deliverMessage: (id: string) => kept.push(id) },
    createInboundStream(_peerId: PeerId, _stream: Stream): void {},
    createOutboundStream: async () => {},
    decodeRpc: (bytes: Uint8Array) => RPC.decode(bytes),
    async handleReceivedRpc(from: PeerId, rpc: SeenRpc): Promise<void> {
      seen.push(rpc)
      for (const message of rpc.messages) void this.handleReceivedMessage(from, message)
    },
    handleReceivedMessage: (from: PeerId, _message: { topic: string; data?: Uint8Array }): Promise<void> =>
      new Promise((resolve) => judging.push({ from: from.toString(), done: resolve })),
    handlePeerReadStreamError: () => {},
  }
  let read = 0
  const guard = guardGossip(
    target,
    {
      conduct: createPeerConduct({ clock, penalise: (_peer, _points, offence) => offences.push(offence) }),
      setTimeout: clock.setTimeout.bind(clock),
      onAuthor: (id, topic) => authors.push(`${id} ${topic}`),
      onSlowReader: () => {},
      onCopy: () => {
        read += 1
      },
      onUnexpected(error) {
        throw error
      },
    },
    { topics: new Set([TOPIC]), graylistThreshold: -40 },
  )
  const join = (name: string) => {
    const joined = peer(name)
    peers.set(name, joined.id)
    target.createInboundStream(joined.id, joined.asStream)
    return joined
  }
  return { target, guard, clock, seen, offences, authors, judging, copies, kept, seenIds, copiesRead: () => read, join }
}

const large = (seed: number) => compressSnappy(new Uint8Array(9_000_000).fill(seed))
const message = (data: Uint8Array) => ({ topic: TOPIC, data })

describe('the guard before gossipsub', () => {
  it('lets nobody ask to be left alone for years', async () => {
    const { join, seen } = await setUp()
    join('a').send({
      prune: [
        [TOPIC, 2 ** 50],
        [TOPIC, 60],
      ],
    })
    expect(seen[0]?.control?.prune.map(({ backoff }) => Number(backoff))).toEqual([3_600, 60])
  })

  it('hears of the first blocks that a peer says it has', async () => {
    const { join, seen } = await setUp()
    const ids = (count: number) => Array.from({ length: count }, () => new Uint8Array(20))
    join('a').send({ ihave: [ids(200), ids(200), ids(5)] })
    expect(seen[0]?.control?.ihave.map(({ messageIDs }) => messageIDs.length)).toEqual([200, 50, 0])
  })

  it('blames who goes on with thousands of ids beyond its budget, soon', async () => {
    const { join, seen, offences } = await setUp()
    const ids = Array.from({ length: 5_000 }, () => new Uint8Array(20))
    const flooding = join('a')
    while (offences.length === 0 && seen.length < 100) flooding.send({ ihave: [ids] })
    const heard = seen.length
    for (let n = 0; n < 8; n++) flooding.send({ ihave: [ids] })
    expect(seen.length).toBe(heard)
    expect(heard).toBeLessThan(20)
    expect(offences).toEqual(new Array(9).fill('rpc-flood'))
  })

  it.each(['from', 'seqno', 'signature', 'key'])(
    'takes messages with a %s out, and says so for our topics',
    async (field) => {
      const { join, seen, authors } = await setUp()
      const signed = { [field]: Uint8Array.of(1) }
      join('a').send({
        messages: [{ topic: TOPIC, ...signed }, { topic: '/other', ...signed }, message(Uint8Array.of(7))],
      })
      expect(seen[0]?.messages).toHaveLength(1)
      expect(authors).toEqual([`a ${TOPIC}`])
    },
  )

  it('counts the copy of a valid block without decoding it, and keeps the promise of it', async () => {
    const { guard, join, seen, copies, kept, seenIds, copiesRead } = await setUp()
    const block = { messages: [message(Uint8Array.of(1, 2, 3))] }
    join('a').send(block)
    join('b').send(block)
    // Nobody has said yet that it is valid.
    expect(seen).toHaveLength(2)
    guard.onAccepted(seen[0]?.messages[0]?.data ?? new Uint8Array(0), { topic: TOPIC, id: 'block' })
    seenIds.add('block')
    join('c').send(block)
    expect(seen).toHaveLength(2)
    expect(copies).toEqual([`c block ${TOPIC}`])
    expect(kept).toEqual(['block'])
    expect(copiesRead()).toBe(1)
    join('d').send({ ...block, graft: [TOPIC] })
    join('e').send({ messages: [message(Uint8Array.of(1, 2, 4))] })
    expect(seen).toHaveLength(4)
    // The library has forgotten it: it is for the library to say what that means.
    seenIds.clear()
    join('f').send(block)
    expect(seen).toHaveLength(5)
  })

  it('hears what else stands in the frame of a block, whoever sends the same', async () => {
    const { guard, join, seen, seenIds } = await setUp()
    const block = { messages: [message(Uint8Array.of(1, 2, 3))], graft: [TOPIC] }
    join('a').send(block)
    guard.onAccepted(seen[0]?.messages[0]?.data ?? new Uint8Array(0), { topic: TOPIC, id: 'block' })
    seenIds.add('block')
    join('b').send(block)
    expect(seen).toHaveLength(2)
  })

  it('counts neither new blocks nor copies of good ones as messages', async () => {
    const { guard, join, seen, seenIds, judging, offences } = await setUp()
    const peer = join('a')
    const send = async (data: Uint8Array, judge: (data: Uint8Array) => void): Promise<void> => {
      peer.send({ messages: [message(data)] })
      judge(seen.at(-1)?.messages[0]?.data ?? new Uint8Array(0))
      judging.pop()?.done()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const small = (n: number) => Uint8Array.of(n, n >> 8)
    const accept = (data: Uint8Array) => guard.onAccepted(data, { topic: TOPIC, id: 'block' })
    // 180 MB unpacked, three times what a peer may send of other messages.
    for (let n = 0; n < 20; n++) await send(large(n), accept)
    for (let n = 0; n < 300; n++) await send(small(n), accept)
    seenIds.add('block')
    peer.send({ messages: [message(small(299))] })
    for (let n = 300; n < 600; n++) await send(small(n), () => guard.onKnown('a'))
    for (let n = 600; n < 850; n++) await send(small(n), () => {})
    expect(seen).toHaveLength(870)
    expect(judging).toEqual([])
    expect(offences).toEqual([])
    for (let n = 850; n < 950; n++) await send(small(n), () => {})
    expect(offences).toEqual(['message-flood'])
  })

  it('gives nobody room for more junk for the copies of a block', async () => {
    const { guard, join, seen, seenIds, copies, offences } = await setUp()
    const block = { messages: [message(Uint8Array.of(1, 2, 3))] }
    join('a').send(block)
    guard.onAccepted(seen[0]?.messages[0]?.data ?? new Uint8Array(0), { topic: TOPIC, id: 'block' })
    seenIds.add('block')
    const bad = join('bad')
    const sendJunk = (count: number): void => {
      for (let n = 0; n < count; n++) bad.send({ messages: [message(Uint8Array.of(n))] })
    }
    sendJunk(200)
    for (let n = 0; n < 300; n++) bad.send(block)
    expect(copies).toHaveLength(300)
    expect(offences).toEqual([])
    sendJunk(150)
    expect(offences).toEqual(['message-flood'])
  })

  it('does not decode what a graylisted peer says', async () => {
    const { join, seen, offences } = await setUp({ score: -41 })
    const bad = join('a')
    bad.send({ graft: [TOPIC] })
    bad.stream.dispatchEvent(new StreamMessageEvent(frameRpc(Uint8Array.of(0x1b))))
    expect(seen).toEqual([])
    expect(offences).toEqual([])
  })

  it('waits a minute for the rest of a frame', async () => {
    const { join, clock, offences } = await setUp()
    const slow = join('a')
    slow.stream.dispatchEvent(new StreamMessageEvent(Uint8Array.of(100, 1)))
    await clock.advance(59_999)
    expect(offences).toEqual([])
    await clock.advance(1)
    expect(offences).toEqual(['slow-frame'])
  })

  it('does not hear who is not in gossip', async () => {
    const { target, seen } = await setUp()
    const unknown = peer('a')
    target.createInboundStream(unknown.id, unknown.asStream)
    unknown.send({ graft: [TOPIC] })
    expect(seen).toEqual([])
  })

  it('resets a stream that another replaces', async () => {
    const { target, join, seen } = await setUp()
    const first = join('a')
    const second = peer('a')
    target.createInboundStream(first.id, second.asStream)
    expect(first.stream.aborted).toBe(true)
    second.send({ graft: [TOPIC] })
    expect(seen).toHaveLength(1)
    expect(target.streamsInbound.get('a')).toMatchObject({ rawStream: second.stream })
  })

  it('does not hear what a peer had said before it was forgotten, nor what it says on that stream after', async () => {
    const { join, seen, target } = await setUp()
    const gone = join('a')
    const handleReceivedRpc = target.handleReceivedRpc.bind(target)
    target.handleReceivedRpc = async (from, rpc) => {
      // As the library does when the last connection ends, which is while frames wait.
      void target.streamsInbound.get('a')?.close()
      target.streamsInbound.delete('a')
      await handleReceivedRpc(from, rpc)
    }
    gone.send({ subscriptions: [[TOPIC, true]] }, { subscriptions: [['other', true]] })
    gone.send({ subscriptions: [[TOPIC, false]] })
    expect(seen).toHaveLength(1)
    expect(gone.stream.aborted).toBe(true)
  })

  it('has room for one large message of each peer, whatever others send', async () => {
    const { join, judging } = await setUp()
    for (const name of ['a', 'b']) {
      const greedy = join(name)
      for (let n = 0; n < 6; n++) greedy.send({ messages: [message(large(n))] })
    }
    const taken = judging.length
    expect(taken).toBeGreaterThanOrEqual(6)
    expect(taken).toBeLessThanOrEqual(8)
    join('honest').send({ messages: [message(large(9))] })
    expect(judging.at(-1)?.from).toBe('honest')
    // What was let go makes room.
    for (const { done } of judging.splice(0)) done()
    await new Promise((resolve) => setImmediate(resolve))
    join('late').send({ messages: [message(large(1)), message(large(2))] })
    expect(judging.map(({ from }) => from)).toContain('late')
  })

  it('lets a peer’s messages wait behind its own', async () => {
    const { join, judging } = await setUp()
    join('a').send({ messages: Array.from({ length: 100 }, (_, n) => message(Uint8Array.of(n))) })
    join('b').send({ messages: [message(Uint8Array.of(1))] })
    expect(judging.map(({ from }) => from)).toEqual([...new Array<string>(8).fill('a'), 'b'])
  })
})
