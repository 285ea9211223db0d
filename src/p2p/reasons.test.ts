import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { errorWith } from '../lib/testUtils/errorWith.ts'
import { until } from '../lib/testUtils/until.ts'
import { blocksTopic } from './base/topics.ts'
import { unhurriedClock } from './testUtils/clocks.ts'
import { keptInTest, nodeInTest, rawPeerInTest } from './testUtils/inTest.ts'
import { expectDelivery } from './testUtils/network.ts'
import { gossipMessage } from './testUtils/signedMessage.ts'
import { CHAIN_ID, SEQUENCER_KEY, TOPIC, testBlock, testBlocks, testChain, testConfig } from './testUtils/testChain.ts'
import type { TestNode } from './testUtils/testNode.ts'

const config = testConfig()
const startRaw = () => rawPeerInTest([TOPIC])
const has = async (test: TestNode, peerId: string, kind: string, reason?: string) =>
  (await test.events(peerId)).some((event) => event.kind === kind && (reason ?? event.reason) === event.reason)

describe('the history of a peer', () => {
  it('lists connections, mesh changes and rejected blocks with their reason', async () => {
    const node = await nodeInTest()
    const raw = await startRaw()
    await raw.connect(node.address)
    await until('the mesh', () => node.node.meshSize() === 1)
    const bad = testBlock(config, { blockNumber: 9, blockHash: `0x${'ab'.repeat(32)}` })
    await raw.publish(TOPIC, gossipMessage(bad))
    await until('the verdict', () => has(node, raw.peerId, 'reject'))
    const events = await node.events(raw.peerId)
    expect(events[0]).toMatchObject({ kind: 'connected', reason: 'inbound', count: 1 })
    expect(events[0]?.detail).toContain('/ip4/127.0.0.1/')
    expect(events.find(({ kind }) => kind === 'graft')).toMatchObject({ topics: [3] })
    expect(events.find(({ kind }) => kind === 'reject')).toMatchObject({
      reason: 'wrong-hash',
      block: { number: 9, hash: bad.payload.blockHash },
      topics: [3],
    })

    // A second copy, from another peer, is counted against that peer too.
    const other = await startRaw()
    await other.connect(node.address)
    await other.publish(TOPIC, gossipMessage(bad))
    await until('the copy', () => has(node, other.peerId, 'reject', 'wrong-hash'))

    await raw.stop()
    await until('the end', () => has(node, raw.peerId, 'disconnected', 'by-peer'))
  })

  it('lists the results of requests, and survives a restart', async () => {
    const chain = testBlocks(config, 995, 999)
    const served = testChain(config, { payloadByNumber: async (n) => chain.find((b) => b.payload.blockNumber === n) })
    const server = await nodeInTest({ sequencerKey: SEQUENCER_KEY }, { chain: served })
    const own = await keptInTest()
    const client = await nodeInTest({ ...own, staticPeers: [server.address] })
    await until('the mesh', () => server.node.meshSize() === 1)
    await expectDelivery(server, client, chain.at(-1))
    client.node.requestRange(995, 999)
    await until('the answers', async () => {
      const event = (await client.events(server.node.peerId)).find(({ kind }) => kind === 'response')
      return event?.count === 4 && event.reason === 'valid-block'
    })
    const [report] = await client.node.peerScore(server.node.peerId)
    expect(report?.application.validResponses.score).toBeGreaterThan(1)
    expect(report).toMatchObject({ connected: true, static: true, scored: true, ban: null, blocked: false })
    expect(report?.total).toBe((report?.application.score ?? 0) + (report?.topics.score ?? 0))
    await client.node.stop()

    const again = await nodeInTest(own)
    const events = await again.events(server.node.peerId)
    expect(events.map(({ kind }) => kind)).toContain('response')
    expect((await again.node.peerHistory()).map(({ peerID }) => peerID)).toEqual([server.node.peerId])
  })
})

describe('the score of a peer', () => {
  it('equals the score that gossipsub uses, with the exemption of its IP', async () => {
    const node = await nodeInTest()
    const raw = await startRaw()
    await raw.connect(node.address)
    const [report] = await node.node.peerScore()
    const record = (await node.node.peers(true)).peers[raw.peerId]
    expect(report).toMatchObject({ peerID: raw.peerId, connected: true })
    expect(report?.total).toBeCloseTo(record?.scores.gossip.total ?? Number.NaN, 1)
    expect(report?.ipColocation.parts).toEqual([
      {
        ip: '127.0.0.1',
        peers: [raw.peerId],
        threshold: 10,
        value: 0,
        weight: -35,
        score: 0,
        exempt: true,
        exemptBy: '127.0.0.0/8',
      },
    ])
    expect(report?.thresholds.map(({ name, value, below }) => [name, value, below])).toEqual([
      ['mesh', 0, false],
      ['gossip', -10, false],
      ['publish', -40, false],
      ['graylist', -40, false],
      ['ban', -100, false],
    ])
  })

  it('below the ban threshold leads to a ban, whose reason and end are in ban list and history', async () => {
    const node = await nodeInTest({
      ipColocationExempt: [],
      ban: { enabled: true, threshold: -30, durationMs: 60_000 },
    })
    const crowd = await Promise.all(Array.from({ length: 11 }, startRaw))
    const firstOf = crowd[0]
    if (firstOf === undefined) throw new Error('no peer')
    // All at once they would be more handshakes than one address may have.
    for (const raw of crowd.slice(0, 10)) await raw.connect(node.address)
    expect((await node.node.peerScore(firstOf.peerId))[0]?.total).toBeGreaterThanOrEqual(0)
    await crowd[10]?.host.dial(multiaddr(node.address))
    await until('a ban', async () => (await node.node.bans()).length > 0)
    const [ban] = await node.node.bans()
    expect(ban).toMatchObject({
      kind: 'peer',
      reason: expect.stringMatching(/^score -3[45]\.\d\d is below -30: 11 peers on 127\.0\.0\.1$/),
    })
    expect(ban?.remainingS).toBeGreaterThan(50)
    const banned = ban?.subject ?? ''
    expect((await node.node.peerScore(banned))[0]?.ban).toMatchObject({
      reason: expect.stringMatching(/^score -3[45]\.\d\d is below -30: 11 peers on 127\.0\.0\.1$/),
    })
    await until('its end', () => has(node, banned, 'disconnected', 'by-us'))
    const standing = node.node.standings().find(({ peerID }) => peerID === banned)
    expect(standing).toMatchObject({ connected: false, blocked: false, ban: { subject: banned, reason: ban?.reason } })
    const { total } = (await node.node.peerScore(banned))[0] ?? {}
    expect(standing?.score).toBeCloseTo(total ?? Number.NaN, 1)
    const end = (await node.events(banned)).find(({ kind }) => kind === 'disconnected')
    expect(end?.detail).toBe('banned')
    expect((await node.events(banned)).find(({ kind }) => kind === 'ban')).toMatchObject({
      score: expect.closeTo(-35, 1),
    })
    await node.node.unblockPeer(banned)
    expect((await node.node.peerScore(banned))[0]?.ban).toBeNull()
    expect(await has(node, banned, 'unban', 'lifted')).toBe(true)
  })

  it('uses the topic that carries blocks after a fork', async () => {
    // Time begins when the mesh is there, so that it forms before the fork, however slow the machine is.
    const startMs = Date.now()
    let beganAtMs: number | undefined
    const now = () => startMs + (beganAtMs === undefined ? 0 : Date.now() - beganAtMs)
    const clock = { ...unhurriedClock(), now }
    const isthmus = Math.floor(startMs / 1000) + 1
    const forking = testConfig('holocene', { forks: { ...config.forks, isthmus } })
    const node = await nodeInTest({}, { chain: testChain(forking), clock })
    const raw = await rawPeerInTest([TOPIC, blocksTopic(CHAIN_ID, 4)])
    await raw.connect(node.address)
    const scored = async () => {
      const [report] = await node.node.peerScore(raw.peerId)
      return report?.topics.parts.filter(({ timeInMesh }) => timeInMesh.score > 0).map(({ version }) => version) ?? []
    }
    await until('time in the mesh of now', async () => (await scored()).join() === '3')
    beganAtMs = Date.now()
    await until('time in the mesh of the fork', async () => (await scored()).join() === '4')
    await until('its share in the total', async () => {
      const { peers } = await node.node.peers(true)
      return (peers[raw.peerId]?.scores.gossip.total ?? 0) > 0
    })
  })

  it('refuses an invalid peer id, and returns an empty report for an unknown peer', async () => {
    const node = await nodeInTest()
    await expect(node.node.peerScore('xx')).rejects.toThrow(errorWith('decode'))
    await expect(node.node.peerHistory('xx')).rejects.toThrow(errorWith('decode'))
    const unknown = await startRaw()
    const [report] = await node.node.peerScore(unknown.peerId)
    expect(report).toMatchObject({ connected: false, total: 0, ban: null, forecastHorizonS: 0 })
    expect(unknown.host.services.pubsub.getPeers()).toEqual([])
  })
})
