import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { type LogFields, type Logger, silentLogger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { HEALTH_STATES, isTrouble } from '../base/healthReport.ts'
import { settableClock } from '../testUtils/clocks.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { createHealthMonitor, type HealthMonitor, healthLimits } from './healthMonitor.ts'
import { createHealthRecord, type HealthRecord } from './healthRecord.ts'

const START_MS = 1_700_000_000_000
const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const STATIC = '16Uiu2HAmTopic'
const config = testConfig()

let clock: ManualClock
/** Sets the machine's clock. */
let setClock: (byMs: number) => void
let record: HealthRecord
let monitor: HealthMonitor
let net: { connected: string[]; subscribers: number; mesh: number; chains: string[] }
let lines: string[]
let why: string

function start(staticPeers: string[] = []): void {
  clock = new ManualClock(START_MS)
  const wall = settableClock(clock)
  setClock = wall.set
  lines = []
  const write = (_: string, fields?: LogFields) => {
    why = String(fields?.why)
    const states = HEALTH_STATES.filter((state) => state === fields?.before || state === fields?.state)
    if (states.some(isTrouble)) lines.push(`${fields?.before} → ${fields?.state}`)
  }
  const logger: Logger = { ...silentLogger, debug: write, info: write, warn: write, error: write }
  net = { connected: [], subscribers: 0, mesh: 0, chains: [] }
  record = createHealthRecord(wall.clock, staticPeers)
  monitor = createHealthMonitor(
    {
      clock: wall.clock,
      logger,
      record,
      connected: () => net.connected,
      gossip: () => ({ topic: '/optimism/901/2/blocks', subscribers: net.subscribers, mesh: net.mesh }),
      bans: () => [],
      chainsOf: async () => net.chains,
    },
    healthLimits(1000),
  )
  monitor.start()
}

function connect(peer = PEER): void {
  net = { connected: [peer], subscribers: 1, mesh: 1, chains: ['901'] }
  record.onConnected(peer)
}

function disconnect(peer = PEER): void {
  net = { connected: [], subscribers: 0, mesh: 0, chains: [] }
  record.onDisconnected(peer, { by: 'peer', cause: 'closed' })
}

let height: number
const nextBlock = () => testBlock(config, { blockNumber: ++height, timestamp: START_MS / 1000 })

/** Each second has one event. */
async function seconds(count: number, event: () => void = () => {}): Promise<void> {
  for (let passed = 0; passed < count; passed++) {
    event()
    await clock.advance(1000)
  }
}

const accept = (envelope: PayloadEnvelope) => record.onVerdict(PEER, { result: 'accept', envelope })
/** A block from gossip that becomes the head. */
const byGossip = (): void => {
  const envelope = nextBlock()
  const { blockNumber: number, blockHash: hash } = envelope.payload
  accept(envelope)
  record.onHead({ number, hash, movedBy: 'payload' })
}
const byL1 = (): void => record.onHead({ number: ++height, hash: `l1 ${height}`, movedBy: 'derivation' })
/** A node that has followed for long. */
async function followFor(count: number): Promise<void> {
  connect()
  await seconds(count, byGossip)
  expect(monitor.state()).toBe('ok')
}

beforeEach(() => {
  height = 0
  start()
})

describe('a healthy node', () => {
  it('logs nothing while blocks come, with outages of 3 s in 10 and of 20 s', async () => {
    await followFor(30)
    for (let round = 0; round < 10; round++) {
      disconnect()
      await seconds(3)
      connect()
      await seconds(7, byGossip)
    }
    disconnect()
    await seconds(20)
    connect()
    await seconds(10, byGossip)
    const report = await monitor.report()
    expect(report).toMatchObject({ state: 'ok', ok: true, mesh: 1, connected: 1, staticPeers: [] })
    expect(report.text).toMatch(new RegExp(`\\b${height}\\b.*\\b1 s\\b`))
    expect(report.lastBlock).toMatchObject({ number: height, peerID: PEER })
    expect(report.recent).toMatchObject({ accepted: height, refused: {}, headMoves: { gossip: height, l1: 0 } })
    expect(lines).toEqual([])
  })

  it('stays ok after 20 s without blocks, but reports the age of the last block and no connected peer', async () => {
    await followFor(30)
    disconnect()
    await seconds(8)
    expect((await monitor.report()).text).toMatch(new RegExp(`\\b${height}\\b.*\\b9 s\\b`))
    await seconds(11)
    const { state, text } = await monitor.report()
    expect(state).toBe('ok')
    expect(text).toMatch(new RegExp(`\\b${height}\\b.*\\b20 s\\b.*no peer`))
  })

  it('a healthy sequencer reports no trouble without peers, and says that no peer subscribes', async () => {
    await seconds(300, () => record.onHead({ number: ++height, hash: `own ${height}`, movedBy: 'sequencer' }))
    const report = await monitor.report()
    expect(report).toMatchObject({ state: 'sequencing', ok: true })
    expect(report.text).toMatch(/no .*peer/)
    expect(lines).toEqual([])
  })

  it('lists static peers that are down during silence, since the node may be cut off with its peers', async () => {
    start([PEER, STATIC])
    record.onConnected(STATIC)
    await followFor(100)
    await seconds(60)
    expect(monitor.state()).toBe('chain-stands-still')
    expect((await monitor.report()).text).not.toContain('static')
    record.onDisconnected(STATIC, { by: 'peer', cause: 'closed' })
    record.onDialFailed(STATIC, { reason: 'unreachable', text: 'no route to that host' })
    await seconds(60)
    const { state, text } = await monitor.report()
    expect(state).toBe('chain-stands-still')
    expect(text).toMatch(new RegExp(`1 of 2 static peers.*${STATIC}: no route`))
  })

  it('reports a stopped chain, and ends the report at the next block', async () => {
    await followFor(30)
    await seconds(600)
    expect(await monitor.report()).toMatchObject({ state: 'chain-stands-still', ok: false })
    net.mesh = 0
    await seconds(600)
    await seconds(5, byGossip)
    expect(monitor.state()).toBe('ok')
    expect(lines).toEqual(['ok → chain-stands-still', 'chain-stands-still → ok'])
  })

  it('a node that closes a gap through L1 while blocks come is catching up', async () => {
    connect()
    await seconds(60, () => {
      accept(testBlock(config, { blockNumber: 10_000 + height, timestamp: START_MS / 1000 }))
      byL1()
    })
    expect(await monitor.report()).toMatchObject({ state: 'catching-up', ok: true, l1Only: { count: 60 } })
    expect(lines).toEqual([])
  })

  it('a node that gets the blocks of a gap by request is healthy', async () => {
    connect()
    await seconds(90, () => {
      byGossip()
      const missed = nextBlock()
      record.onRequested(missed)
      record.onHead({ number: missed.payload.blockNumber, hash: missed.payload.blockHash, movedBy: 'payload' })
    })
    const report = await monitor.report()
    expect(report).toMatchObject({ state: 'ok', recent: { headMoves: { gossip: 90, request: 90, posted: 0 } } })
    expect(report.lastMoves.request).toMatchObject({ number: height })
  })
})

describe('logs each problem once with its reason, and once when it ends', () => {
  it('no connected peer', async () => {
    await followFor(100)
    disconnect()
    await seconds(120, byL1)
    expect(monitor.state()).toBe('no-peers')
    expect(lines).toEqual(['ok → no-peers'])
    expect(why).toMatch(/no peer.*L1 .*\b\d+ times in \d+ s.*block \d+/)
    connect()
    // A single block may be an echo.
    byGossip()
    await seconds(7)
    expect(monitor.state()).toBe('no-peers')
    await seconds(8, byGossip)
    expect(monitor.state()).toBe('ok')
    expect(lines).toEqual(['ok → no-peers', 'no-peers → ok'])
  })

  it('all static peers down, each with the result of its dial', async () => {
    start([PEER, STATIC])
    await followFor(100)
    disconnect()
    record.onDialFailed(PEER, { reason: 'refused', text: 'connection refused' })
    record.onDialFailed(STATIC, { reason: 'timeout', text: 'no answer in time' })
    await seconds(60)
    expect(lines).toEqual(['ok → static-peers-down'])
    expect(why).toContain(`(${PEER}: connection refused; ${STATIC}: no answer in time)`)
    const { staticPeers } = await monitor.report()
    expect(staticPeers[0]).toEqual({
      peerID: PEER,
      connected: false,
      sinceMs: START_MS + 100_000,
      failure: { reason: 'refused', text: 'connection refused', atMs: START_MS + 100_000 },
    })
  })

  it.each([
    ['while L1 advances the head', byL1, /\b60 times/],
    ['while the head stands still', () => {}, /none .*L1/],
  ])('a static peer down and no blocks from the other peers, %s', async (_, event, consequence) => {
    start([STATIC])
    await followFor(100)
    net = { connected: [PEER, 'b'], subscribers: 2, mesh: 2, chains: [] }
    record.onDialFailed(STATIC, { reason: 'unreachable', text: 'no route to that host' })
    await seconds(60, event)
    expect(monitor.state()).toBe('static-peers-down')
    expect(why).toContain(`${STATIC}: no route to that host`)
    const { text } = await monitor.report()
    expect(text).toContain('2 other peers')
    expect(text).toMatch(consequence)
  })

  it('a static peer that closes each connection right after the dial', async () => {
    start([PEER])
    await followFor(100)
    disconnect()
    await seconds(60, () => {
      connect()
      disconnect()
    })
    const { staticPeers, text } = await monitor.report()
    expect(staticPeers).toMatchObject([{ connected: false, sinceMs: START_MS + 100_000 }])
    expect(text).toMatch(new RegExp(`${PEER}: .*closed .*\\b0 ms`))
    expect(text).toContain('devium p2p check --identity')
  })

  it('a static peer that this node itself has blocked', async () => {
    start([PEER])
    await followFor(100)
    disconnect()
    record.onDialFailed(PEER, { reason: 'blocked-by-us', text: 'our own block list forbids it' })
    await seconds(60)
    expect(why).toContain(`${PEER}: our own block list forbids it`)
    expect(why).toContain('devium p2p unblock')
  })

  it('silent gossip while L1 advances the head, then a stopped chain', async () => {
    await followFor(100)
    await seconds(100, byL1)
    expect(lines).toEqual(['ok → gossip-silent'])
    await seconds(400)
    expect(lines.slice(1)).toEqual(['gossip-silent → chain-stands-still'])
  })

  it.each([0, 35])('a clock set back %i s after the last block does not delay the report', async (silentS) => {
    await followFor(100)
    await seconds(silentS, byL1)
    setClock(-3_600_000)
    await seconds(60 - silentS, byL1)
    expect(lines).toEqual(['ok → gossip-silent'])
    expect((await monitor.report()).recent).toMatchObject({ accepted: 0, headMoves: { gossip: 0, l1: 60 - silentS } })
  })

  it('silent gossip of a sequencer that no longer makes blocks', async () => {
    connect()
    await seconds(30, () => record.onHead({ number: ++height, hash: `own ${height}`, movedBy: 'sequencer' }))
    setClock(-3_600_000)
    await seconds(90, byL1)
    expect(monitor.state()).toBe('gossip-silent')
  })

  it('rejected blocks soon after the start, for as long as their sender stays connected', async () => {
    connect()
    const refuse = () => record.onVerdict(PEER, { result: 'reject', reason: 'wrong-signer' })
    await seconds(4, refuse)
    await seconds(16, byL1)
    expect(lines).toEqual(['starting → blocks-rejected'])
    await seconds(240, byL1)
    expect(monitor.state()).toBe('blocks-rejected')
    expect((await monitor.report()).text).toContain('(wrong-signer: 4)')
    await seconds(60, byL1)
    expect(monitor.state()).toBe('gossip-silent')
    await seconds(2, refuse)
    net.connected = ['b']
    await seconds(60, byL1)
    expect(monitor.state()).toBe('gossip-silent')
  })

  it('an unreachable static peer while the node starts', async () => {
    start([PEER])
    record.onDialFailed(PEER, { reason: 'refused', text: 'connection refused' })
    const { state, text } = await monitor.report()
    expect(state).toBe('starting')
    expect(text).toMatch(new RegExp(`1 of 1 static peer.*${PEER}: connection refused`))
  })

  it('gossiped blocks that do not become the head', async () => {
    connect()
    await seconds(20, byGossip)
    await seconds(60, () => {
      byL1()
      accept(testBlock(config, { blockNumber: height }))
    })
    expect(lines).toEqual(['ok → l1-only'])
    byGossip()
    await seconds(10, byGossip)
    expect(lines.at(-1)).toBe('l1-only → ok')
  })

  it('two alternating problems are reported once', async () => {
    await followFor(100)
    disconnect()
    await seconds(60, byL1)
    for (let round = 0; round < 20; round++) {
      connect()
      await seconds(6, byL1)
      disconnect()
      await seconds(6, byL1)
    }
    expect(lines).toEqual(['ok → no-peers'])
  })
})

it('heads set at start or by a reset do not count as blocks from L1', async () => {
  await followFor(20)
  record.onHead({ number: 5, hash: 'found', movedBy: 'reset' })
  record.onHead({ number: 4, hash: 'parent', movedBy: 'derivation' })
  expect(await monitor.report()).toMatchObject({ head: { number: 4 }, lastMoves: { l1: null }, l1Only: { count: 0 } })
  record.onHead({ number: 5, hash: 'posted', movedBy: 'payload' })
  expect((await monitor.report()).lastMoves.posted).toMatchObject({ number: 5 })
})

it('monitor.stop() stops the checks', async () => {
  monitor.stop()
  await seconds(200)
  expect(monitor.state()).toBe('starting')
})

it('healthLimits returns half a minute, or fifteen block times if that is longer', () => {
  const limits = { silentMs: 30_000, graceMs: 60_000, confirmMs: 10_000, intervalMs: 5_000 }
  expect(healthLimits(2_000)).toEqual(limits)
  expect(healthLimits(12_000)).toEqual({ ...limits, silentMs: 180_000, graceMs: 180_000, confirmMs: 48_000 })
  expect(healthLimits(2_000, { confirmMs: 1 })).toEqual({ ...limits, confirmMs: 1 })
})
