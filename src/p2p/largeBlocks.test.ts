import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { until } from '../lib/testUtils/until.ts'
import { nodeInTest, rawPeerInTest } from './testUtils/inTest.ts'
import { expectDelivery, networkInTest } from './testUtils/network.ts'
import { gossipMessage } from './testUtils/signedMessage.ts'
import { SEQUENCER_KEY, TOPIC, testBlock, testConfig } from './testUtils/testChain.ts'

const config = testConfig('holocene')

/** 1 MB of incompressible data. */
function largeBlock(blockNumber: number) {
  const content = new Uint8Array(randomBytes(1_000_000))
  const transactions = Array.from({ length: 5_000 }, (_, i) => content.subarray(i * 200, (i + 1) * 200))
  return testBlock(config, { blockNumber, transactions })
}

describe('blocks of a megabyte', () => {
  it('arrive unchanged over two hops', async () => {
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const relay = await nodeInTest({ staticPeers: [sequencer.address] })
    const follower = await nodeInTest({ staticPeers: [relay.address] })
    await until('the meshes', () => relay.node.meshSize() === 2 && follower.node.meshSize() === 1)
    const blocks = [largeBlock(1), testBlock(config, { blockNumber: 2 }), largeBlock(3)]
    const arrived = Promise.all(blocks.map(({ payload }) => follower.block(payload.blockHash)))
    for (const block of blocks) await sequencer.node.publish(block)
    expect(await arrived).toEqual(blocks)
    expect(relay.received).toHaveLength(3)
  })

  it('arrive while another peer sends invalid messages of the same size', async () => {
    const [sequencer, follower] = await networkInTest(1)
    const hostile = await rawPeerInTest([TOPIC])
    await hostile.connect(follower.address)
    await until('the mesh', () => follower.node.meshSize() === 2)
    const wrongKey = new Uint8Array(32).fill(9)
    for (let n = 0; n < 8; n++) {
      await hostile.publish(TOPIC, gossipMessage(largeBlock(n), wrongKey))
    }
    await expectDelivery(sequencer, follower, largeBlock(100))
    expect(follower.received).toHaveLength(1)
  })
})
