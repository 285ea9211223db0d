import { expect } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { nodeInTest } from './inTest.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from './testChain.ts'
import type { startTestNode, TestNode } from './testNode.ts'

/** A sequencer and `count` followers with it as static peer, all in one mesh. */
export async function networkInTest(
  count: number,
  ...[options, modules]: Parameters<typeof startTestNode>
): Promise<[TestNode, TestNode, ...TestNode[]]> {
  const sequencer = await nodeInTest({ ...options, sequencerKey: SEQUENCER_KEY }, modules)
  const follow = () => nodeInTest({ ...options, staticPeers: [sequencer.address] }, modules)
  const followers = await Promise.all(Array.from({ length: count - 1 }, follow))
  const first = await follow()
  await until('a full mesh', () => [first, ...followers].every(({ node }) => node.meshSize() === 1))
  await until('a full mesh', () => sequencer.node.meshSize() === count)
  return [sequencer, first, ...followers]
}

/** Publishes the block at one node and expects it unchanged at the other. */
export async function expectDelivery(
  from: TestNode,
  to: TestNode,
  block: PayloadEnvelope = testBlock(testConfig()),
): Promise<void> {
  const arrived = to.block(block.payload.blockHash)
  await from.node.publish(block)
  expect(await arrived).toEqual(block)
}
