import { expect, it } from 'vitest'
import { type Clock, systemClock } from '../lib/clock.ts'
import { until } from '../lib/testUtils/until.ts'
import { ZERO_SCORES } from './base/api.ts'
import type { P2pOptions } from './base/options.ts'
import { keptInTest, nodeInTest, rawPeerInTest } from './testUtils/inTest.ts'
import { TOPIC } from './testUtils/testChain.ts'
import type { TestNode } from './testUtils/testNode.ts'

/** The clock is stopped here: scores decay by time, and a restart is slow on a busy machine. */
const startMs = Date.now()
/** A node with a persistent store. Its clock shows `laterMs` after the start. */
async function startAt(kept: Partial<P2pOptions>, laterMs = 0): Promise<TestNode> {
  const clock: Clock = { now: () => startMs + laterMs, setTimeout: systemClock.setTimeout }
  return nodeInTest(kept, { clock })
}
const totalOf = async ({ node }: TestNode, peerId: string) => (await node.peerScore(peerId))[0]?.total ?? 0

it('a restart does not reset the score of a hostile peer, and its decay continues', async () => {
  const kept = await keptInTest()
  const first = await startAt(kept)
  const raw = await rawPeerInTest([TOPIC])
  await raw.connect(first.address)
  raw.publishDamaged(TOPIC, 5)
  await until('its price', async () => (await totalOf(first, raw.peerId)) < -60)
  const thresholds = (await first.node.peerScore(raw.peerId))[0]?.thresholds
  expect(thresholds?.find(({ name }) => name === 'mesh')?.changesInS).toBeGreaterThan(10)
  await first.node.stop()

  const second = await startAt(kept)
  expect(await totalOf(second, raw.peerId)).toBeLessThan(-40)
  const shown = (await second.node.peers(false)).peers[raw.peerId]
  expect(shown?.connectedness).toBe(0)
  expect(shown?.scores.gossip.total).toBeLessThan(-40)
  expect(shown?.scores.gossip.blocks.invalidMessageDeliveries).toBeGreaterThan(3.5)
  await raw.connect(second.address)
  await until('its return', () => second.node.connectedPeers().includes(raw.peerId))
  expect(await totalOf(second, raw.peerId)).toBeLessThan(-35)
  expect(second.node.meshSize()).toBe(0)
  await second.node.stop()

  // 5 · 0.98476665^150 = 0.5 invalid messages are left after 150 slots of a second.
  const third = await startAt(kept, 150_000)
  expect(await totalOf(third, raw.peerId)).toBeLessThan(-0.1)
  expect(await totalOf(third, raw.peerId)).toBeGreaterThan(-1)
  await third.node.stop()

  // 100 epochs of 6 slots.
  const last = await startAt(kept, 610_000)
  expect(await totalOf(last, raw.peerId)).toBe(0)
  const zero = { ...ZERO_SCORES, reqResp: { validResponses: 0, errorResponses: 0, rejectedPayloads: 0 } }
  expect((await last.node.peers(false)).peers[raw.peerId]?.scores ?? zero).toEqual(zero)
})
