import { nodeInTest } from './inTest.ts'
import { SEQUENCER_KEY } from './testChain.ts'
import { type TestNode, until } from './testNode.ts'

/** A sequencer and `count` followers that have it as their static peer, all in one mesh. */
export async function networkInTest(count: number): Promise<[TestNode, ...TestNode[]]> {
  const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
  const followers = await Promise.all(
    Array.from({ length: count }, () => nodeInTest({ staticPeers: [sequencer.address] })),
  )
  await until('a full mesh', () => sequencer.node.meshSize() === count)
  return [sequencer, ...followers]
}
