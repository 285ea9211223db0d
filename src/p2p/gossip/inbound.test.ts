import { type Connection, type PeerId, type Stream, StreamCloseEvent } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { DeviumError } from '../../lib/errors.ts'
import { loopTurns } from '../../lib/nextTurn.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import type { Verdict } from '../base/verdict.ts'
import { type AnyRpc, encodeRpc, frameRpc } from '../hostile/rpcCodec.ts'
import { idText } from '../inspection/messageId.ts'
import { FakeStream } from '../testUtils/fakeStream.ts'
import { realGossip } from '../testUtils/realGossip.ts'
import { TOPIC, testBlock, testConfig } from '../testUtils/testChain.ts'
import type { DecodedRpc } from './adapter.ts'
import { GOSSIP_OVERLOADED } from './loopBudget.ts'

const BLOCK: Verdict = { result: 'accept', envelope: testBlock(testConfig()) }
const NONE: Verdict = { result: 'ignore', reason: 'already-seen' }
const BAD: Verdict = { result: 'reject', reason: 'bad-signature' }
const NAMES: Record<string, string> = {
  a: '16Uiu2HAmQtLoyaBUxgcXhCzBvRKj6WS7iCDM9hUZMFyCnxQcHy2p',
  b: '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8',
  c: '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc',
}
const nameOf = (id: string): string => Object.keys(NAMES).find((name) => NAMES[name] === id) ?? id

const untilIdle = (): Promise<void> => loopTurns(20)

/** A message's first bytes are its id. With `held`, verdicts wait until the test gives them. */
async function setUp(verdictOf: (data: Uint8Array) => Verdict | 'held' = () => NONE) {
  const emitted: string[] = []
  /** Messages in validation, to be completed by the test. */
  const judging: { from: string; done(verdict: Verdict): void }[] = []
  const connections: Pick<Connection, 'status'>[] = []
  let judged = 0
  let from = ''
  const { clock, events, gossip, quotas, addPeer, onStream, forget, forgotten } = await realGossip({
    // They have the member that the code uses.
    connectionsOf: () => connections as Connection[],
    ids: {
      identify(message) {
        from = nameOf(message.from)
        const { data } = message
        return { id: data.subarray(0, 24), unpacked: { ok: true, data } }
      },
    },
    validate(_, unpacked) {
      judged += 1
      const verdict = verdictOf(unpacked.ok ? (unpacked.data ?? new Uint8Array(0)) : new Uint8Array(0))
      if (verdict !== 'held') return verdict
      const held = Promise.withResolvers<Verdict>()
      judging.push({ from, done: held.resolve })
      return held.promise
    },
  })
  const offences: string[] = []
  events.on('offence', (_, offence) => offences.push(offence))
  events.on('author', (peer) => emitted.push(`author ${nameOf(peer)}`))
  events.on('block', (_, peer) => emitted.push(`block ${nameOf(peer)}`))
  events.on('rejectedAgain', (peer) => emitted.push(`again ${nameOf(peer)}`))
  events.on(
    'verdict',
    (_, _version, verdict) => verdict !== NONE && 'detail' in verdict && emitted.push(verdict.reason),
  )
  const traced: Record<string, number> = {}
  events.on('traced', (event, count) => {
    traced[event] = (traced[event] ?? 0) + count
  })
  const heard: DecodedRpc[] = []
  const handleReceivedRpc = gossip.handleReceivedRpc.bind(gossip)
  gossip.handleReceivedRpc = (peer, rpc) => {
    heard.push(rpc)
    return handleReceivedRpc(peer, rpc)
  }
  const peer = (name: string) => {
    const id: PeerId = peerIdFromString(NAMES[name] ?? name)
    const stream = new FakeStream()
    const sendBytes = (bytes: Uint8Array) => stream.receive(bytes)
    const send = (...rpcs: AnyRpc[]) => sendBytes(concatBytes(...rpcs.map((rpc) => frameRpc(encodeRpc(rpc)))))
    // It has the members that the code uses.
    const open = () => onStream(id, stream as object as Stream)
    return { id, text: id.toString(), stream, send, sendBytes, open }
  }
  const join = (name: string) => {
    const joined = peer(name)
    addPeer(joined.id)
    joined.open()
    return joined
  }
  return {
    gossip,
    forget,
    forgotten,
    events,
    quotas,
    clock,
    heard,
    offences,
    emitted,
    connections,
    traced,
    judging,
    judged: () => judged,
    peer,
    join,
  }
}

const large = (seed: number) => compressSnappy(new Uint8Array(9_000_000).fill(seed))
const message = (data: Uint8Array) => ({ topic: TOPIC, data })
const small = (n: number) => Uint8Array.of(n, n >> 8)

describe('control messages', () => {
  it('limits the backoff of a PRUNE', async () => {
    const { join, heard } = await setUp()
    const prune: [string, number][] = [
      [TOPIC, 2 ** 50],
      [TOPIC, 60],
    ]
    join('a').send({ prune })
    expect(heard[0]?.control?.prune.map(({ backoff }) => Number(backoff))).toEqual([3_600, 60])
  })

  it('reads only the first ids of an IHAVE', async () => {
    const { join, heard } = await setUp()
    const ids = (count: number) => Array.from({ length: count }, () => new Uint8Array(20))
    join('a').send({ ihave: [ids(200), ids(200), ids(5)] })
    expect(heard[0]?.control?.ihave.map(({ messageIDs }) => messageIDs.length)).toEqual([200, 50, 0])
  })

  it('control messages beyond a peer’s budget are dropped and count as an offence', async () => {
    const { join, heard, offences } = await setUp()
    const ids = Array.from({ length: 5_000 }, () => new Uint8Array(20))
    const flooding = join('a')
    while (offences.length === 0 && heard.length < 100) flooding.send({ ihave: [ids] })
    const before = heard.length
    for (let n = 0; n < 8; n++) flooding.send({ ihave: [ids] })
    expect(heard.length).toBe(before)
    expect(before).toBeLessThan(20)
    expect(new Set(offences)).toEqual(new Set(['rpc-flood']))
  })

  it('control messages of a graylisted peer are not decoded', async () => {
    const { join, events, heard, offences } = await setUp()
    const bad = join('a')
    events.emit('offence', bad.text, 'bad-rpc', 9, 'test')
    offences.length = 0
    bad.send({ graft: [TOPIC] })
    bad.sendBytes(frameRpc(Uint8Array.of(0x1b)))
    expect(heard).toEqual([])
    expect(offences).toEqual([])
  })

  it('reads control messages in an RPC with a known block, from any sender', async () => {
    const { join, heard, judged } = await setUp(() => BLOCK)
    const block = { messages: [message(Uint8Array.of(1, 2, 3))], graft: [TOPIC] }
    join('a').send(block)
    join('b').send(block)
    expect(heard).toHaveLength(2)
    expect(heard[0]?.messages).toEqual([])
    expect(judged()).toBe(1)
  })
})

describe('messages', () => {
  it('a message is validated once: a copy is counted and fulfils an IWANT promise', async () => {
    const { join, gossip, judged, traced, emitted } = await setUp(() => BLOCK)
    const block = { messages: [message(Uint8Array.of(1, 2, 3))] }
    const id = idText(Uint8Array.of(1, 2, 3))
    const a = join('a')
    a.send(block)
    await untilIdle()
    expect(gossip.score.peerStats.get(a.text)?.topics[TOPIC]?.firstMessageDeliveries).toBe(1)
    gossip.gossipTracer.promises.set(id, new Map([['b', 1]]))
    const b = join('b')
    b.send(block)
    expect(judged()).toBe(1)
    expect(emitted).toEqual(['block a'])
    expect(traced).toMatchObject({ RECV_RPC: 2, DELIVER_MESSAGE: 1, DUPLICATE_MESSAGE: 1 })
    expect(gossip.gossipTracer.promises.size).toBe(0)
    expect(gossip.score.deliveryRecords.getRecord(id)?.peers).toEqual(new Set([b.text]))
    expect(gossip.mcache.msgs.get(id)).toMatchObject({ validated: true })
  })

  it('penalises every sender of a bad message, copies included', async () => {
    const { join, gossip, emitted, traced } = await setUp(() => BAD)
    const invalid = ({ text }: { text: string }) =>
      gossip.score.peerStats.get(text)?.topics[TOPIC]?.invalidMessageDeliveries
    const [a, b] = [join('a'), join('b')]
    for (const peer of [a, b]) {
      peer.send({ messages: [message(Uint8Array.of(1))] })
      await untilIdle()
    }
    expect([invalid(a), invalid(b)]).toEqual([1, 1])
    expect(emitted).toEqual(['again b'])
    expect(traced).toMatchObject({ REJECT_MESSAGE: 1, DUPLICATE_MESSAGE: 1 })
  })

  it.each<[string, Verdict]>([
    ['ignored', NONE],
    // The clock of this node may be wrong.
    ['rejected for a reason that a good peer can have', { result: 'reject', reason: 'too-old' }],
  ])('penalises no peer for a message that is %s, and forwards none', async (_, verdict) => {
    const { join, gossip, traced } = await setUp(() => verdict)
    const peer = join('a')
    peer.send({ messages: [message(Uint8Array.of(1))] })
    await untilIdle()
    const counters = gossip.score.peerStats.get(peer.text)?.topics[TOPIC]
    expect([counters?.invalidMessageDeliveries ?? 0, counters?.firstMessageDeliveries ?? 0]).toEqual([0, 0])
    expect(gossip.mcache.msgs.size).toBe(0)
    expect(traced).toEqual({ RECV_RPC: 1, REJECT_MESSAGE: 1 })
  })

  it('are not read from other topics', async () => {
    const { join, judged, offences } = await setUp(() => BLOCK)
    join('a').send({ messages: [{ topic: 'other', data: Uint8Array.of(1) }] })
    await untilIdle()
    expect([judged(), offences]).toEqual([0, []])
  })

  it.each([
    [GOSSIP_OVERLOADED, []],
    ['another-code', ['internal-error']],
  ])('without a verdict are reported one by one, unless this node is overloaded: %s', async (code, reported) => {
    const { join, emitted } = await setUp(() => {
      throw new DeviumError(code, 'for the test')
    })
    join('a').send({ messages: [message(small(1))] })
    await untilIdle()
    expect(emitted).toEqual(reported)
  })

  it('penalises no peer and closes nothing when our own code fails', async () => {
    const { join, quotas, heard, emitted, offences } = await setUp(() => {
      throw new TypeError('a fault of ours')
    })
    const { spend } = quotas
    for (const faulty of ['fields', 'messages', 'none'] as const) {
      quotas.spend = (id, budget, amount) => {
        if (budget === faulty) throw new TypeError('a fault of ours')
        return spend(id, budget, amount)
      }
      join('a').send({ messages: [message(small(1))], graft: [TOPIC] })
      await untilIdle()
    }
    expect(heard).toHaveLength(2)
    expect(emitted).toEqual(['internal-error'])
    expect(offences).toEqual([])
  })

  it('new blocks and copies of good blocks do not spend the message budget', async () => {
    const { join, judged, offences } = await setUp((data) => (data[2] === 9 || data.length > 9 ? BLOCK : NONE))
    const [peer, other] = [join('a'), join('b')]
    const send = async (from: typeof peer, data: Uint8Array): Promise<void> => {
      from.send({ messages: [message(data)] })
      await untilIdle()
    }
    const block = (n: number) => Uint8Array.of(n, n >> 8, 9)
    // 180 MB uncompressed, three times the budget for other messages.
    for (let n = 0; n < 20; n++) await send(peer, large(n))
    for (let n = 0; n < 300; n++) await send(peer, block(n))
    for (let n = 0; n < 300; n++) await send(other, block(n))
    expect(judged()).toBe(320)
    for (let n = 0; n < 250; n++) await send(other, small(n))
    expect(offences).toEqual([])
    for (let n = 250; n < 350; n++) await send(other, small(n))
    expect(offences).toEqual(['message-flood'])
  })

  it('each peer can have one large message validated, whatever others send', async () => {
    const { join, judging } = await setUp(() => 'held')
    for (const name of ['a', 'b']) {
      const greedy = join(name)
      for (let n = 0; n < 6; n++) greedy.send({ messages: [message(large(n + (name === 'a' ? 0 : 6)))] })
    }
    await untilIdle()
    const taken = judging.length
    expect(taken).toBeGreaterThanOrEqual(6)
    expect(taken).toBeLessThanOrEqual(8)
    const honest = join('c')
    honest.send({ messages: [message(large(12))] })
    await untilIdle()
    expect(judging.at(-1)?.from).toBe('c')
    // Completed messages free their share.
    for (const { done } of judging.splice(0)) done(NONE)
    await untilIdle()
    honest.send({ messages: [message(large(13)), message(large(14))] })
    await untilIdle()
    expect(judging.map(({ from }) => from)).toEqual(['c', 'c'])
  })

  it('messages wait only behind messages of the same peer', async () => {
    const { join, judging } = await setUp(() => 'held')
    join('a').send({ messages: Array.from({ length: 100 }, (_, n) => message(Uint8Array.of(n))) })
    join('b').send({ messages: [message(Uint8Array.of(100))] })
    await untilIdle()
    expect(judging.map(({ from }) => from)).toEqual([...new Array<string>(8).fill('a'), 'b'])
  })
})

describe('a large message', () => {
  it.each([
    { bytes: 1_023, receivers: [] },
    { bytes: 1_024, receivers: ['b'] },
  ])(
    'of $bytes bytes sends IDONTWANT at once to the mesh peers that support it, from 1,024 bytes on',
    async ({ bytes, receivers }) => {
      const { join, gossip } = await setUp(() => 'held')
      const [a, b, c] = ['a', 'b', 'c'].map(join)
      if (a === undefined || b === undefined || c === undefined) throw new Error('nobody')
      gossip.mesh.set(TOPIC, new Set([a.text, b.text, c.text]))
      for (const { text } of [a, b, c]) {
        const protocol = text === c.text ? '/meshsub/1.1.0' : '/meshsub/1.2.0'
        gossip.streamsOutbound.set(text, {
          rawStream: { protocol, status: 'open', addEventListener: () => {} },
          close: async () => {},
        })
      }
      const sent: [string, unknown][] = []
      gossip.sendRpc = (peerId, { control }) => {
        sent.push([nameOf(peerId), control?.idontwant])
        return true
      }
      const data = new Uint8Array(bytes).fill(5)
      a.send({ messages: [message(data)] })
      await untilIdle()
      expect(sent).toEqual(receivers.map((name) => [name, [{ messageIDs: [data.subarray(0, 24)] }]]))
    },
  )
})

describe('a gossip stream', () => {
  it('may take a minute for the rest of a frame', async () => {
    const { join, clock, offences } = await setUp()
    join('a').sendBytes(Uint8Array.of(100, 1))
    await clock.advance(59_999)
    expect(offences).toEqual([])
    await clock.advance(1)
    expect(offences).toEqual(['slow-frame'])
  })

  it('a gossip stream of a peer unknown to gossipsub is ignored', async () => {
    const { peer, heard } = await setUp()
    const unknown = peer('a')
    unknown.open()
    unknown.send({ graft: [TOPIC] })
    expect(heard).toEqual([])
  })

  it('a gossip stream is reset when another replaces it', async () => {
    const { join, peer, heard } = await setUp()
    const first = join('a')
    const second = peer('a')
    second.open()
    expect(first.stream.aborted).toBeDefined()
    second.send({ graft: [TOPIC] })
    expect(heard).toHaveLength(1)
    expect(second.stream.aborted).toBeUndefined()
  })

  it.each([
    { id: 'fails', error: new Error('reset'), statuses: [], forgets: true },
    { id: 'fails while a connection closes', error: new Error('reset'), statuses: ['closing'], forgets: true },
    { id: 'fails beside an open connection', error: new Error('reset'), statuses: ['closed', 'open'], forgets: false },
    { id: 'ends', error: undefined, statuses: [], forgets: false },
  ] as const)('that $id: gossip forgets the peer: $forgets', async ({ error, statuses, forgets }) => {
    const { join, forgotten, connections } = await setUp()
    const { id, stream } = join('a')
    connections.push(...statuses.map((status) => ({ status })))
    stream.fall(new StreamCloseEvent(false, error))
    expect(forgotten).toEqual(forgets ? [id] : [])
  })

  it('that was replaced does not end the stream that replaced it', async () => {
    const { join, peer, forgotten, heard } = await setUp()
    const first = join('a')
    const second = peer('a')
    second.open()
    first.stream.fall(new StreamCloseEvent(true, new Error('replaced')))
    expect(forgotten).toEqual([])
    second.send({ graft: [TOPIC] })
    expect(heard).toHaveLength(1)
  })

  it('frames of a removed peer are dropped, also those received before its removal', async () => {
    const { join, heard, gossip, forget } = await setUp()
    const disconnecting = join('a')
    const { handleReceivedRpc } = gossip
    gossip.handleReceivedRpc = (from, rpc) => {
      // As when the last connection ends, which happens while frames wait.
      forget(from)
      return handleReceivedRpc(from, rpc)
    }
    disconnecting.send({ subscriptions: [[TOPIC, true]] }, { subscriptions: [['other', true]] })
    disconnecting.send({ subscriptions: [[TOPIC, false]] })
    expect(heard).toHaveLength(1)
    await untilIdle()
    expect(disconnecting.stream.aborted).toBeDefined()
  })
})
