import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { EMPTY_BYTES } from '../lib/bytes.ts'
import { toHex } from '../lib/hex.ts'
import { until } from '../lib/testUtils/until.ts'
import type { GossipStream } from './hostile/hostileHost.ts'
import { type AnyRpc, encodeRpc, frameRpc, varint } from './hostile/rpcCodec.ts'
import { messageId, unpackMessage } from './inspection/messageId.ts'
import { BUDGETS, DROPS_PER_REPORT } from './quotas/quotas.ts'
import { haltableClock } from './testUtils/clocks.ts'
import { gossiped, startVictims, wronglySigned } from './testUtils/hostileSetup.ts'
import { hostileVisits } from './testUtils/hostileVisits.ts'
import { TOPIC } from './testUtils/testChain.ts'

const { clock, halt } = haltableClock()
const { victims, hostile, come, blamed } = hostileVisits(() => startVictims({}, { clock }))

async function join(topics: readonly string[] = [TOPIC]): Promise<GossipStream> {
  return (await come()).join(victims().follower.address, topics)
}

const ids = (count: number): Uint8Array[] => Array.from({ length: count }, () => new Uint8Array(randomBytes(20)))
const isClosed = (gossip: GossipStream) => until('the end of the stream', () => gossip.stream.status !== 'open')

describe('an RPC', () => {
  it('an undecodable RPC is dropped, and more of them lead to a ban', async () => {
    const gossip = await join()
    gossip.sendBytes(frameRpc(Uint8Array.of(0x12, 0x7f, 1)))
    await blamed('bad-rpc')
    const events = await victims().events(hostile().peerId)
    expect(events.find(({ reason }) => reason === 'bad-rpc')).toMatchObject({
      kind: 'behaviour',
      detail: expect.stringContaining('rpc: '),
    })
    expect(await victims().isBanned(hostile().peerId)).toBe(false)
    const ban = await victims().banned(hostile().peerId, () =>
      gossip.sendBytes(frameRpc(Uint8Array.of(0x1b)), frameRpc(Uint8Array.of(0x12, 0x80))),
    )
    expect(ban.detail).toContain('below -100')
    await until('the end of the connection', () => gossip.connection.status !== 'open')
  })

  it.each<[string, AnyRpc]>([
    ['thousands of GRAFTs', { graft: Array.from({ length: 5_000 }, () => TOPIC) }],
    ['thousands of IHAVEs', { ihave: Array.from({ length: 5_000 }, () => ids(1)), topic: TOPIC }],
    ['a hundred thousand empty ids', { ihave: [Array.from({ length: 100_000 }, () => new Uint8Array(0))] }],
    ['thousands of messages', { messages: Array.from({ length: 2_000 }, () => ({ topic: TOPIC })) }],
    [
      'thousands of subscriptions',
      { subscriptions: Array.from({ length: 2_000 }, (_, n) => [`/${n}`, true] as const) },
    ],
    ['an id of a megabyte', { idontwant: [[new Uint8Array(1_000_000)]] }],
  ])('an RPC with %s is dropped', async (_id, rpc) => {
    const gossip = await join()
    gossip.send(rpc)
    await blamed('bad-rpc')
    expect(await victims().count(hostile().peerId, 'graft', 'refused')).toBe(0)
    expect(await victims().score(hostile().peerId)).toBeGreaterThanOrEqual(0)
  })

  it('an RPC with message ids in a field of an invalid wire type is dropped undecoded', async () => {
    const padded = (n: number) => [(n & 127) | 128, ((n >> 7) & 127) | 128, ((n >> 14) & 127) | 128, n >> 21]
    const idontwant = new Array<number[]>(1_000).fill([0x0a, 0]).flat()
    const lists = new Array<number[]>(64).fill([0x2a, ...padded(idontwant.length), ...idontwant]).flat()
    // Control messages in a field with a four-byte wire type, then an unknown field.
    const gossip = await join()
    gossip.sendBytes(frameRpc(Uint8Array.from([0x1d, ...padded(lists.length), ...lists])))
    await blamed('bad-rpc')
  })

  it('the stream of an RPC above 10 MiB is reset when its length is read', async () => {
    const gossip = await join()
    gossip.sendBytes(varint(10 * 1024 * 1024 + 1))
    await blamed('oversized-rpc')
    await isClosed(gossip)
    expect(gossip.connection.status).toBe('open')
    // A new stream starts anew, but the points of the old one remain.
    const again = await hostile().openGossip(gossip.connection)
    again.sendBytes(varint(2 ** 34))
    await blamed('oversized-rpc', 2)
    await isClosed(again)
  })

  it('an RPC sent in single bytes is read', async () => {
    const gossip = await join()
    const frame = frameRpc(encodeRpc({ messages: [{ topic: TOPIC, data: gossiped({ blockNumber: 7 }) }] }))
    const before = victims().follower.received.length
    for (const byte of frame) gossip.stream.send(Uint8Array.of(byte))
    await until('the block', () => victims().follower.received.length > before)
    expect(victims().follower.received.at(-1)?.payload.blockNumber).toBe(7)
  })
})

describe('a message', () => {
  it.each(['from', 'seqno', 'signature', 'key'] as const)('a message with %s is invalid', async (member) => {
    const gossip = await join()
    const before = victims().follower.received.length
    const data = gossiped({ blockNumber: 8, gasUsed: BigInt(member.length * 100 + member.charCodeAt(0)) })
    gossip.send({ messages: [{ topic: TOPIC, data, [member]: Uint8Array.of(1, 2, 3) }] })
    await until('the verdict', async () => (await victims().count(hostile().peerId, 'reject', 'author')) === 1)
    await until('its price', async () => (await victims().score(hostile().peerId)) < 0)
    expect(victims().follower.received).toHaveLength(before)
  })

  it('a message of a foreign topic is not decoded', async () => {
    const gossip = await join()
    const messages = [1, 2, 3].map((n) => ({ topic: `/optimism/902/${n}/blocks`, data: new Uint8Array(1_000) }))
    gossip.send({ subscriptions: [['/optimism/902/2/blocks', true]], messages })
    gossip.send({ messages: [{ topic: TOPIC, data: Uint8Array.of(5, 0x10, 1, 2) }] })
    await until(
      'the one that is ours',
      async () => (await victims().count(hostile().peerId, 'reject', 'snappy-damaged')) === 1,
    )
    const events = await victims().events(hostile().peerId)
    expect(events.filter(({ kind }) => kind === 'reject' || kind === 'behaviour')).toHaveLength(1)
  })

  it('a message of a wrong signer is not penalised, but thousands count as a flood', async () => {
    const gossip = await join()
    // Nine reports are a ban. On a busy machine the first of them may have decayed.
    const datas = wronglySigned(BUDGETS.messages.burst + 30 * DROPS_PER_REPORT)
    const wrong = datas.map((data) => ({ topic: TOPIC, data }))
    const judged = () => victims().count(hostile().peerId, 'reject', 'wrong-signer')
    gossip.send({ messages: wrong.slice(0, 20) })
    await until('the verdicts', async () => (await judged()) === 20)
    expect(await victims().score(hostile().peerId)).toBeGreaterThanOrEqual(0)
    await halt(async () => {
      for (let at = 20; at < wrong.length; at += 200) gossip.send({ messages: wrong.slice(at, at + 200) })
      await blamed('message-flood')
      await victims().banned(hostile().peerId)
    })
    expect(await judged()).toBeLessThanOrEqual(20 + BUDGETS.messages.burst)
  })
})

describe('a flood', () => {
  it('a flood of GRAFTs during back-off is refused and leads to a ban', async () => {
    const gossip = await join()
    gossip.send({ prune: [[TOPIC, 3_600]] })
    gossip.send({ graft: [TOPIC] })
    await until('the refusal', () => hostile().heard.some(({ control }) => (control?.prune ?? []).length > 0))
    const ban = await victims().banned(hostile().peerId, () => gossip.send({ graft: [TOPIC] }))
    expect(ban.detail).toContain('below -100')
    await blamed('graft-too-soon', 9)
    expect(await victims().count(hostile().peerId, 'graft', 'refused')).toBeGreaterThan(0)
  })

  it('a flood of IHAVEs is requested within limits, and leads to a ban if no message arrives', async () => {
    const gossip = await join()
    const requestedIds = () =>
      hostile()
        .heard.flatMap(({ control }) => control?.iwant ?? [])
        .map(({ messageIDs }) => messageIDs.length)
    for (let n = 0; n < 40; n++) gossip.send({ ihave: [ids(1_000)], topic: TOPIC })
    await until('what it is asked for', () => requestedIds().length >= 10)
    await blamed('broken-promise')
    expect(Math.max(...requestedIds())).toBe(250)
    // The promises broken meanwhile may be enough.
    for (let n = 0; n < 40 && gossip.stream.status === 'open'; n++) gossip.send({ ihave: [ids(10)], topic: TOPIC })
    await victims().banned(hostile().peerId)
  })

  it('a flood of IWANTs for one block is answered three times', async () => {
    const gossip = await join()
    await victims().expectBlock()
    const announced = () =>
      hostile()
        .heard.flatMap(({ control }) => control?.ihave ?? [])
        .flatMap(({ messageIDs }) => messageIDs)
    const received = () =>
      hostile()
        .heard.flatMap(({ messages }) => messages)
        .map(({ topic, data = EMPTY_BYTES }) => toHex(messageId(topic, data, unpackMessage(data))))
    // In the mesh it receives the block; outside it receives an IHAVE.
    gossip.send({ prune: [[TOPIC, 60]] })
    await until('the prune', async () => (await victims().count(hostile().peerId, 'prune', 'by-peer')) > 0)
    await victims().expectBlock()
    const id = await until('an IHAVE', () => announced()[0])
    // Other blocks may arrive meanwhile.
    const copies = () => received().filter((one) => one === toHex(id)).length
    const before = copies()
    for (let n = 0; n < 60; n++) gossip.send({ iwant: [[id]] })
    await until('the copies', () => copies() >= before + 3)
    await victims().expectBlock()
    gossip.send({ iwant: [[id], [id]] })
    const mark = await marked(gossip)
    expect(mark).toBe(true)
    expect(copies()).toBe(before + 3)
    expect(await victims().score(hostile().peerId)).toBeGreaterThanOrEqual(0)
  })

  it('a flood of IDONTWANTs is limited without a penalty', async () => {
    const gossip = await join()
    for (let n = 0; n < 20; n++) gossip.send({ idontwant: [ids(1_000)] })
    expect(await marked(gossip)).toBe(true)
    expect(await victims().score(hostile().peerId)).toBeGreaterThanOrEqual(0)
  })

  it('a flood of subscriptions is dropped and penalised', async () => {
    const gossip = await join()
    const toggles = Array.from({ length: 100 }, (_, n) => [TOPIC, n % 2 === 0] as const)
    for (let n = 0; n < 2 * DROPS_PER_REPORT; n++) gossip.send({ subscriptions: toggles })
    await blamed('subscription-flood')
    const grafts = hostile().heard.flatMap(({ control }) => control?.graft ?? []).length
    expect(grafts).toBeLessThanOrEqual(10)
  })

  it('a flood of tiny RPCs is dropped undecoded and leads to a ban', async () => {
    const gossip = await join()
    const tiny = frameRpc(encodeRpc({ iwant: [ids(1)] }))
    const many = Buffer.concat(Array.from({ length: 2_000 }, () => tiny))
    await halt(async () => {
      for (let n = 0; n < 4; n++) gossip.sendBytes(many)
      await blamed('rpc-flood', 9)
      await victims().banned(hostile().peerId)
    })
  })
})

let marks = 0
/** True: the follower still processes this peer's messages. */
async function marked(gossip: GossipStream): Promise<boolean> {
  marks += 1
  const data = wronglySigned(marks).at(-1)
  if (data === undefined) return false
  gossip.send({ messages: [{ topic: TOPIC, data }] })
  await until('the mark', async () => (await victims().count(hostile().peerId, 'reject', 'wrong-signer')) > 0)
  return true
}
