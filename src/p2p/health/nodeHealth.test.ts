import { expect, it, onTestFinished } from 'vitest'
import { type LogFields, type Logger, silentLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'
import { settableClock, steppedTimers } from '../testUtils/clocks.ts'
import { nodeInTest } from '../testUtils/inTest.ts'
import { SEQUENCER_KEY, testBlock, testChain, testConfig } from '../testUtils/testChain.ts'
import type { TestNode } from '../testUtils/testNode.ts'

const config = testConfig()
/** The test controls all of them. No other timer has this interval, so the test triggers every assessment. */
const health = { silentMs: 20_000, graceMs: 10_000, confirmMs: 20_000, intervalMs: 4_999 }

type Follower = Awaited<ReturnType<typeof follow>>

/** A follower whose head moves by gossip, and by L1 at every block that gossip did not bring. */
async function follow(
  sequencer: TestNode,
  { chainId = config.l2ChainId, signer }: { chainId?: bigint; signer?: `0x${string}` } = {},
) {
  const changes: LogFields[] = []
  const { clock: timers, due: judge } = steppedTimers(health.intervalMs)
  const { clock, set } = settableClock(timers)
  /**
   * Advances the follower's clock. A trouble at that time persists for `confirmMs` without events, so it is reported.
   */
  const pass = (ms: number): void => {
    set(ms)
    judge()
    set(health.confirmMs)
    judge()
  }
  const logger: Logger = {
    ...silentLogger,
    child: () => logger,
    debug: (message, fields = {}) => void (message === 'Gossip health changed' && changes.push(fields)),
  }
  const known = signer === undefined ? {} : { signerAddress: () => signer }
  const chain = testChain({ ...config, l2ChainId: chainId }, known)
  const started = await nodeInTest({ staticPeers: [sequencer.address], health }, { logger, chain, clock })
  started.node.onPayload(({ payload }) =>
    started.node.headMoved({ number: payload.blockNumber, hash: payload.blockHash, movedBy: 'payload' }),
  )
  return { ...started, changes, clock, judge, pass }
}

/** Ten blocks a second. A block that is missing 100 ms later reaches the follower through L1. */
function makeBlocks(sequencer: TestNode, follower: Follower): void {
  let number = 0
  const timer = setInterval(() => {
    const missing = number
    number += 1
    const block = testBlock(config, { blockNumber: number })
    void sequencer.node.publish(block)
    if (missing > 0 && !follower.received.some(({ payload }) => payload.blockNumber === missing)) {
      follower.node.headMoved({ number: missing, hash: `derived ${missing}`, movedBy: 'derivation' })
    }
  }, 100)
  onTestFinished(() => clearInterval(timer))
}

const startSequencer = () => nodeInTest({ sequencerKey: SEQUENCER_KEY })

const untilHealthy = ({ node, judge }: Follower) =>
  until('ok', async () => {
    judge()
    return (await node.health()).state === 'ok'
  })

it('a follower blocked by its sequencer reports it by RPC, metric and log', async () => {
  const sequencer = await startSequencer()
  const follower = await follow(sequencer)
  makeBlocks(sequencer, follower)
  await untilHealthy(follower)
  expect(follower.changes).toMatchObject([{ state: 'ok', before: 'starting' }])

  await sequencer.node.blockPeer(follower.node.peerId)
  await until('blocks by L1 alone', async () => {
    const { connected, l1Only } = await follower.node.health()
    return connected === 0 && l1Only.count > 1
  })
  follower.pass(health.silentMs)
  const report = await follower.node.health()
  expect(report).toMatchObject({ state: 'static-peers-down', ok: false, connected: 0, mesh: 0 })
  expect(report.head).toMatchObject({ number: expect.any(Number) })
  expect(report.l1Only.count).toBeGreaterThan(1)
  expect(report.text).toMatch(
    /^the static peer is not connected \(.*\)\. No other peer is connected, .*L1 advanced the head \d+ times/,
  )
  expect(report.staticPeers).toMatchObject([
    { peerID: sequencer.node.peerId, connected: false, failure: { text: expect.any(String) } },
  ])
  expect(await follower.metric('p2p_health{state="static-peers-down"}')).toBe(1)
  expect(follower.changes.at(-1)).toMatchObject({ state: 'static-peers-down', before: 'ok' })

  const unblockedAtMs = follower.clock.now()
  await sequencer.node.unblockPeer(follower.node.peerId)
  await untilHealthy(follower)
  expect(follower.changes.slice(2)).toMatchObject([{ state: 'ok', before: 'static-peers-down' }])
  const lastBlock = await follower.metric('p2p_last_gossip_block_unix')
  expect(lastBlock).toBeGreaterThanOrEqual(Math.floor(unblockedAtMs / 1000))
  expect(lastBlock).toBeLessThanOrEqual(follower.clock.now() / 1000)
})

it('a follower that expects another signer reports the rejection reason with counts', async () => {
  const sequencer = await startSequencer()
  const follower = await follow(sequencer, { signer: `0x${'11'.repeat(20)}` })
  makeBlocks(sequencer, follower)
  const refused = async () => (await follower.node.health()).recent.refused['wrong-signer'] ?? 0
  await until('the refusals', async () => (await refused()) >= 2)
  follower.pass(health.graceMs)
  const { state, recent, lastRefused, mesh, text } = await follower.node.health()
  expect({ state, mesh }).toEqual({ state: 'blocks-rejected', mesh: 1 })
  expect(recent.refused['wrong-signer']).toBeGreaterThanOrEqual(2)
  expect(lastRefused).toMatchObject({ reason: 'wrong-signer', peerID: sequencer.node.peerId })
  expect(text).toMatch(/\bwrong-signer: \d+.*rollup config/)
  expect(follower.changes.at(-1)).toMatchObject({ state: 'blocks-rejected' })
})

it('a node of another chain names the chain of its peers', async () => {
  const sequencer = await startSequencer()
  const follower = await follow(sequencer, { chainId: 10n })
  await until('the connection', () => follower.node.connectedPeers().length === 1)
  follower.pass(health.graceMs)
  await until('its protocols', async () => (await follower.node.health()).otherChains[0]?.chainIDs.length === 1)
  const { state, otherChains, text } = await follower.node.health()
  expect(state).toBe('no-subscriber')
  expect(otherChains).toEqual([{ peerID: sequencer.node.peerId, chainIDs: ['901'] }])
  expect(text).toMatch(/\b1 peer .*\/optimism\/10\/2\/blocks\b.*\bchain 901\b/)
})
