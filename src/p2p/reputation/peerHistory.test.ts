import { type Datastore, Key } from 'interface-datastore'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { datastoreInTest } from '../testUtils/inTest.ts'
import { openPeerHistories } from './peerHistory.ts'

const DAY_MS = 24 * 3_600_000
let score = 0
const open = (clock: ManualClock, datastore?: Datastore) => openPeerHistories({ clock, score: () => score }, datastore)
async function setUp() {
  const clock = new ManualClock(0)
  return { clock, histories: await open(clock) }
}

describe('openPeerHistories', () => {
  it('records events with their time and score', async () => {
    const clock = new ManualClock(1_000)
    const histories = await open(clock)
    score = -1.23456
    const event = { kind: 'reject', reason: 'wrong-hash', block: { number: 5, hash: '0x12' }, topics: [3] } as const
    histories.record('a', { ...event, topics: [3] })
    expect(histories.of('a')).toEqual([{ ...event, count: 1, firstMs: 1_000, lastMs: 1_000, score: -1.235 }])
    expect(histories.of('b')).toEqual([])
    expect(histories.peers()).toEqual(['a'])
  })
  it('merges repeated events within a minute, unless another event came in between', async () => {
    const { clock, histories } = await setUp()
    const graft = (topic: number) => histories.record('a', { kind: 'graft', reason: 'by-us', topics: [topic] })
    for (const topic of [3, 1]) graft(topic)
    await clock.advance(60_000)
    graft(4)
    await clock.advance(60_001)
    graft(1)
    histories.record('a', { kind: 'ban', reason: 'score' })
    graft(1)
    expect(histories.of('a').map(({ kind, count, topics, firstMs }) => [kind, count, topics, firstMs])).toEqual([
      ['graft', 3, [1, 3, 4], 0],
      ['graft', 1, [1], 120_001],
      ['ban', 1, undefined, 120_001],
      ['graft', 1, [1], 120_001],
    ])
  })
  it('separates disconnections by a block from disconnections by the operator', async () => {
    const { histories } = await setUp()
    for (const detail of ['peer is blocked', 'disconnected by the operator', 'disconnected by the operator']) {
      histories.record('a', { kind: 'disconnected', reason: 'by-us', detail })
    }
    expect(histories.of('a').map(({ detail, count }) => [detail, count])).toEqual([
      ['peer is blocked', 1],
      ['disconnected by the operator', 2],
    ])
  })
  it('returns events that later records do not change', async () => {
    const { histories } = await setUp()
    const record = (topic: number) => histories.record('a', { kind: 'graft', reason: 'by-us', topics: [topic] })
    record(3)
    const [given] = histories.of('a')
    const before = structuredClone(given)
    record(1)
    expect(given).toEqual(before)
    expect(histories.of('a')).toHaveLength(1)
  })
  it('separates events of different kinds, and shows the last of merged events', async () => {
    const { histories } = await setUp()
    for (const kind of ['block', 'unblock', 'block'] as const) histories.record('a', { kind, reason: 'operator' })
    for (const number of [1, 2]) {
      histories.record('a', {
        kind: 'reject',
        reason: 'wrong-hash',
        detail: `${number}`,
        block: { number, hash: '0x' },
      })
    }
    const seen = histories.of('a').map(({ kind, count, detail, block }) => [kind, count, detail, block?.number])
    expect(seen).toEqual([
      ['block', 1, undefined, undefined],
      ['unblock', 1, undefined, undefined],
      ['block', 1, undefined, undefined],
      ['reject', 2, '2', 2],
    ])
  })
  it('limits events per peer, their text length, and peers', async () => {
    const { histories } = await setUp()
    for (let n = 0; n < 100; n++) histories.record('a', { kind: 'reject', reason: `r${n}`, detail: 'x'.repeat(5_000) })
    expect(histories.of('a')).toHaveLength(64)
    expect(histories.of('a').at(-1)?.detail).toHaveLength(200)
    for (let n = 0; n < 1_100; n++) {
      histories.record(`peer${n}`, { kind: 'connected', reason: 'inbound' })
      if (n % 500 === 0) histories.record('a', { kind: 'reject', reason: 'again' })
    }
    expect(histories.peers()).toHaveLength(1_000)
    expect(histories.of('peer0')).toEqual([])
    expect(histories.of('a')).toHaveLength(64)
  })
  it('keeps rejections and bans when mesh events fill the history', async () => {
    const { clock, histories } = await setUp()
    histories.record('a', { kind: 'reject', reason: 'wrong-hash' })
    histories.record('a', { kind: 'ban', reason: 'score' })
    const kinds = () => histories.of('a').map(({ kind }) => kind)
    for (let round = 0; round < 100; round++) {
      for (const kind of ['graft', 'prune'] as const) histories.record('a', { kind, reason: 'by-peer' })
      await clock.advance(67_000)
    }
    expect(kinds().slice(0, 2)).toEqual(['reject', 'ban'])
    expect(histories.of('a')).toHaveLength(64)
    expect(histories.of('a').at(-1)?.lastMs).toBe(99 * 67_000)

    for (let n = 0; n < 64; n++) histories.record('a', { kind: 'reject', reason: `r${n}` })
    expect(kinds().filter((kind) => kind === 'graft' || kind === 'prune')).toHaveLength(16)
    expect(kinds().filter((kind) => kind === 'reject')).toHaveLength(47)
    expect(kinds()[0]).toBe('ban')
  })
  it('evicts the oldest decisions of the operator last', async () => {
    const { histories } = await setUp()
    for (let n = 0; n < 100; n++) histories.record('a', { kind: n % 2 === 0 ? 'block' : 'unblock', reason: `r${n}` })
    expect(histories.of('a').map(({ reason }) => reason)).toEqual(Array.from({ length: 64 }, (_, n) => `r${n + 36}`))
  })
  it('survives a restart, and forgets events after a week', async () => {
    const datastore = await datastoreInTest()
    const clock = new ManualClock(0)
    const histories = await open(clock, datastore)
    histories.record('old', { kind: 'ban', reason: 'score' })
    await clock.advance(3 * DAY_MS)
    histories.record('new', { kind: 'ban', reason: 'score' })
    await histories.flush()
    const again = await open(clock, datastore)
    expect(again.peers()).toEqual(['old', 'new'])
    expect(again.of('old')).toEqual(histories.of('old'))
    await clock.advance(5 * DAY_MS)
    expect((await open(clock, datastore)).peers()).toEqual(['new'])
    await clock.advance(-5 * DAY_MS)
    expect((await open(clock, datastore)).peers()).toEqual(['new'])
  })
  it('drops evicted and unreadable entries from the store', async () => {
    const datastore = await datastoreInTest()
    const clock = new ManualClock(0)
    for (const text of ['no json', '[1]', '[{"kind":"ban"}]', '{}']) {
      await datastore.put(new Key('/devium/peer-history/x'), Buffer.from(text))
      expect((await open(clock, datastore)).peers()).toEqual([])
      expect(await datastore.has(new Key('/devium/peer-history/x'))).toBe(false)
    }
    const histories = await open(clock, datastore)
    histories.record('first', { kind: 'connected', reason: 'inbound' })
    await histories.flush()
    for (let n = 0; n < 1_000; n++) histories.record(`peer${n}`, { kind: 'connected', reason: 'inbound' })
    await histories.flush()
    expect((await open(clock, datastore)).of('first')).toEqual([])
    expect(await datastore.has(new Key('/devium/peer-history/first'))).toBe(false)
  })

  it('reads only the latest thousand peers of a store, in order of their last event', async () => {
    const datastore = await datastoreInTest()
    const event = { kind: 'behaviour', reason: 'flood', count: 1, firstMs: 0, score: 0 }
    for (let n = 0; n < 1_001; n++) {
      await datastore.put(
        new Key(`/devium/peer-history/p${n}`),
        Buffer.from(JSON.stringify([{ ...event, lastMs: 2_000 - n }])),
      )
    }
    const peers = (await open(new ManualClock(2_000), datastore)).peers()
    expect([peers.length, peers[0], peers.at(-1)]).toEqual([1_000, 'p999', 'p0'])
  })
})
