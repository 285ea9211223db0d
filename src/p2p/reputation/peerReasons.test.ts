import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import type { BlockScoring } from '../base/options.ts'
import type { PeerCounters } from '../gossip/adapter.ts'
import { AccessLists } from '../peers/accessLists.ts'
import { scoreKeeper, TOPICS, topicCounters } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { createAppScores } from './appScores.ts'
import { openPeerHistories } from './peerHistory.ts'
import { createPeerReasons } from './peerReasons.ts'

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const OTHER = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'
const THIRD = '16Uiu2HAmQtLoyaBUxgcXhCzBvRKj6WS7iCDM9hUZMFyCnxQcHy2p'

/** Everything is real except gossipsub's counters, which the test sets. */
async function setUp(
  changes: { counters?: Partial<PeerCounters>; connected?: string[]; scoreBlocks?: BlockScoring; bans?: boolean } = {},
) {
  const { counters = {}, connected = [PEER], scoreBlocks = 'current', bans = true } = changes
  const clock = new ManualClock(0)
  const [appScores, histories] = [createAppScores(), await openPeerHistories({ clock, score: () => 0 }, undefined)]
  const lists = new AccessLists()
  const versions = new Map([...TOPICS].map(([version, topic]) => [topic, version]))
  const known = {
    connected: true,
    expire: 0,
    knownIPs: new Set<string>(),
    behaviourPenalty: 0,
    topics: {},
    ...counters,
  }
  const reasons = createPeerReasons(
    {
      clock,
      router: {
        counters: (peer) => (peer === PEER ? known : undefined),
        peersOnIp: () => [PEER],
        score: (peer) => (peer === PEER ? -7 : 0),
      },
      versionOf: (topic) => versions.get(topic),
      appScores,
      scoring: scoreKeeper({ scoreBlocks }).scoring,
      histories,
      lists,
      connected: () => connected,
      isStatic: (peer) => peer === OTHER,
      isProtected: (peer) => peer === PEER,
      servesBlocks: async () => null,
    },
    { scored: true, banThreshold: bans ? -100 : undefined },
  )
  const report = async (peer = PEER) => {
    const [found] = await reasons.peerScore(peer)
    if (found === undefined) throw new Error('no report')
    return found
  }
  return { clock, appScores, histories, lists, reasons, report }
}

describe('peerScore', () => {
  it('reports which thresholds a peer is below, and for how long', async () => {
    const { report } = await setUp({ counters: { behaviourPenalty: 7.5 } })
    const { total, thresholds, forecastHorizonS } = await report()
    expect(total).toBe(-36)
    expect(thresholds.map(({ name, below, changesInS }) => [name, below, changesInS])).toEqual([
      // Below 6 after ln(7.5/6)/−ln(0.92611873) = 2.9 slots of 2 s.
      ['mesh', true, 6],
      // (7.5·d^n − 6)² · 16 <= 10 → n >= ln(7.5/6.79)/−ln(0.92611873) = 1.3
      ['gossip', true, 4],
      ['publish', false, null],
      ['graylist', false, null],
      ['ban', false, null],
    ])
    expect(forecastHorizonS).toBe(3_600)
  })

  it('has no forecast for a disconnected peer, and reports when its score is dropped', async () => {
    const disconnected = { connected: false, expire: 5_500, behaviourPenalty: 7.5 }
    const { clock, report } = await setUp({ counters: disconnected, connected: [] })
    expect(await report()).toMatchObject({ connected: false, forecastHorizonS: 0, forgottenInS: 6 })
    expect((await report()).thresholds.map(({ changesInS }) => changesInS)).toEqual(Array(5).fill(null))
    await clock.advance(9_000)
    expect((await report()).forgottenInS).toBe(0)
    expect((await (await setUp()).report()).forgottenInS).toBeNull()
  })

  it('forecasts when a mesh peer misses the deliveries that op-node of 2024 requires', async () => {
    const [oldest = ''] = TOPICS.values()
    const topics = { [oldest]: topicCounters({ inMesh: true, meshTime: 40_000 }) }
    const { report } = await setUp({ counters: { topics }, scoreBlocks: 'op-node-2024' })
    expect((await report()).thresholds[0]).toMatchObject({ name: 'mesh', below: false, changesInS: 10 })
  })

  it('has no forecast for a peer without negative terms', async () => {
    const topics = { [TOPIC]: topicCounters({ inMesh: true, firstMessageDeliveries: 5 }) }
    const { report } = await setUp({ counters: { topics } })
    expect((await report()).thresholds.map(({ changesInS }) => changesInS)).toEqual(Array(5).fill(null))
  })

  it('forecasts when one false block no longer outweighs good answers', async () => {
    const { report, appScores } = await setUp()
    for (let n = 0; n < 10; n++) appScores.record(PEER, 'validResponses')
    appScores.record(PEER, 'errorResponses')
    // 5 − 1 > 0, and both decay equally.
    expect((await report()).thresholds[0]).toMatchObject({ below: false, changesInS: null })
    appScores.record(PEER, 'rejectedPayloads')
    // −16 · d^n > −10 → n > ln(1.6)/−ln(0.92611873) = 6.1
    expect((await report()).thresholds[1]).toMatchObject({ name: 'gossip', below: true, changesInS: 14 })
  })

  it('has no ban threshold when bans are off', async () => {
    const { report } = await setUp({ bans: false })
    expect((await report()).thresholds.map(({ name }) => name)).toEqual(['mesh', 'gossip', 'publish', 'graylist'])
  })

  it('lists no unpenalised rejections, and no topics without a score', async () => {
    const { report, histories } = await setUp({ scoreBlocks: 'op-node-2024' })
    const reject = (reason: string, topics?: number[]) =>
      histories.record(PEER, { kind: 'reject', reason, ...(topics === undefined ? {} : { topics }) })
    reject('wrong-hash', [1])
    reject('bad-signature', [3])
    reject('author')
    histories.record(PEER, { kind: 'ignore', reason: 'overloaded', topics: [1] })
    histories.record(PEER, { kind: 'behaviour', reason: 'flood' })
    histories.record(PEER, { kind: 'response', reason: 'valid-block' })
    histories.record(PEER, { kind: 'response', reason: 'failed' })
    const { causes } = await report()
    expect(causes.rejections.map(({ reason }) => reason)).toEqual(['wrong-hash'])
    expect(causes.behaviour.map(({ reason }) => reason)).toEqual(['flood'])
    expect(causes.application.map(({ reason }) => reason)).toEqual(['failed'])
    const current = await setUp()
    current.histories.record(PEER, { kind: 'reject', reason: 'too-old', topics: [3] })
    expect((await current.report()).causes.rejections).toEqual([])
  })

  it('lists the rules that refuse a peer: blocks of its id, its current and last IPs', async () => {
    const { report, lists, histories } = await setUp({ counters: { knownIPs: new Set(['1.1.1.1', '2.2.2.2']) } })
    expect((await report()).refusals).toEqual([])
    histories.record(PEER, { kind: 'connected', reason: 'inbound', detail: '/ip6/2001:db8::1/tcp/9000' })
    histories.record(PEER, { kind: 'disconnected', reason: 'by-peer', detail: 'reset' })
    lists.blockedPeers.add(PEER)
    lists.blockAddr('1.1.1.1')
    lists.blockSubnet('2001:db8::/32')
    expect(await report()).toMatchObject({
      blocked: true,
      refusals: [
        { subject: PEER, reason: 'it is on the block list' },
        { subject: '1.1.1.1', reason: 'its IP 1.1.1.1 is blocked' },
        { subject: '2001:db8::/32', reason: 'its IP 2001:db8::1 is in the blocked subnet 2001:db8::/32' },
      ],
    })
  })

  it('reports on all connected peers, or on the requested one', async () => {
    const { reasons } = await setUp({ connected: [PEER, OTHER] })
    const named = (await reasons.peerScore()).map(({ peerID, connected, ...rest }) => [
      peerID,
      connected,
      rest.static,
      rest.protected,
    ])
    expect(named).toEqual([
      [PEER, true, false, true],
      [OTHER, true, true, false],
    ])
    await expect(reasons.peerScore('xx')).rejects.toThrow(errorWith('decode'))
  })
})

it('mainReason equals the main reason of the report', async () => {
  const { reasons } = await setUp({ counters: { behaviourPenalty: 9 } })
  expect(reasons.mainReason(PEER)).toBe('misbehaviour')
})

it('peerHistory returns the history of one peer or of all', async () => {
  const { reasons, histories } = await setUp()
  for (const peer of [PEER, OTHER]) histories.record(peer, { kind: 'behaviour', reason: 'flood' })
  expect((await reasons.peerHistory()).map(({ peerID }) => peerID)).toEqual([PEER, OTHER])
  expect((await reasons.peerHistory(OTHER)).map(({ peerID, events }) => [peerID, events.length])).toEqual([[OTHER, 1]])
})

it('bans returns bans in force, soonest to expire first, and a report has the ban of its peer', async () => {
  const { clock, reasons, lists, report } = await setUp()
  lists.banPeer(PEER, { expiryMs: 30_500, reason: 'score' })
  lists.banPeer(THIRD, { expiryMs: 20_000, reason: 'flood' })
  lists.banPeer(OTHER, { expiryMs: 10_000, reason: 'score' })
  await clock.advance(10_000)
  expect(await reasons.bans()).toEqual([
    { subject: THIRD, kind: 'peer', reason: 'flood', untilMs: 20_000, remainingS: 10 },
    { subject: PEER, kind: 'peer', reason: 'score', untilMs: 30_500, remainingS: 21 },
  ])
  expect((await report()).ban).toMatchObject({ subject: PEER, remainingS: 21 })
  expect((await report(OTHER)).ban).toBeNull()
})

it('standings contains connected, banned and blocked peers', async () => {
  const topics = { other: topicCounters(), [TOPIC]: topicCounters({ inMesh: true }) }
  const { clock, reasons, lists } = await setUp({ counters: { topics } })
  lists.banPeer(OTHER, { expiryMs: 10_000, reason: 'score' })
  lists.blockedPeers.add('blocked')
  const nobody = {
    connected: false,
    score: 0,
    inMesh: false,
    static: false,
    protected: false,
    blocked: false,
    ban: null,
  }
  const [peer, blocked] = [
    { ...nobody, peerID: PEER, connected: true, score: -7, inMesh: true, protected: true },
    { ...nobody, peerID: 'blocked', blocked: true },
  ]
  const ban = { subject: OTHER, kind: 'peer', reason: 'score', untilMs: 10_000, remainingS: 10 }
  expect(reasons.standings()).toEqual([peer, { ...nobody, peerID: OTHER, static: true, ban }, blocked])
  await clock.advance(10_000)
  expect(reasons.standings()).toEqual([peer, blocked])
})
