import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { blocksTopic, PAYLOAD_VERSIONS } from '../base/topics.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { networkInTest } from '../testUtils/network.ts'
import { CHAIN_ID, SEQUENCER_KEY, TOPIC, testBlock, testConfig } from '../testUtils/testChain.ts'
import { gossipInternals } from './adapter.ts'

const config = testConfig()
async function startRaw(topics: readonly string[] = [TOPIC]) {
  const raw = await rawPeerInTest(topics)
  let count = 0
  raw.host.services.pubsub.addEventListener('message', () => {
    count += 1
  })
  return { ...raw, received: () => count }
}

describe('the gossip router', () => {
  it('joins four topics', async () => {
    const node = await nodeInTest()
    const raw = await startRaw([])
    await raw.host.dial(multiaddr(node.address))
    const topics = PAYLOAD_VERSIONS.map((version) => blocksTopic(CHAIN_ID, version))
    expect(topics).toEqual([0, 1, 2, 3].map((n) => `/optimism/901/${n}/blocks`))
    await until('its subscriptions', () =>
      topics.every((topic) => raw.host.services.pubsub.getSubscribers(topic).length === 1),
    )
  })

  it('still reaches a peer after the connection with its gossip stream closed', async () => {
    const node = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const raw = await startRaw()
    await raw.connect(node.address)
    const second = await raw.host.dial(multiaddr(node.address), { force: true })
    await until('both connections', async () => (await node.metric('p2p_peer_count')) === 2)
    for (const connection of raw.host.getConnections()) if (connection.id !== second.id) await connection.close()
    await until('the other side to see it', async () => (await node.metric('p2p_peer_count')) === 1)
    const before = raw.received()
    let blockNumber = 0
    await until('a block to arrive', async () => {
      await node.node.publish(testBlock(config, { blockNumber: blockNumber++ }))
      return raw.received() > before
    })
  })

  it('removes a peer from the mesh when it disconnects after a day without a new stream', async () => {
    const [node, other] = await networkInTest(1)
    const later = Date.now() + 25 * 3_600_000
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => later)
    onTestFinished(() => clock.mockRestore())
    await other.node.stop()
    await until('its end', () => node.node.connectedPeers().length === 0)
    expect(node.node.meshSize()).toBe(0)
  })

  it('forwards blocks to a peer outside its mesh while the mesh is small', async () => {
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const relay = await nodeInTest({ staticPeers: [sequencer.address] })
    const raw = await startRaw()
    await raw.connect(relay.address)
    await until('the mesh', () => relay.node.meshSize() === 2)
    // The relay's library prunes it, and does not graft it again for a minute.
    const rawInternals = gossipInternals(raw.host.services.pubsub)
    rawInternals.mesh.get(TOPIC)?.clear()
    // It requests nothing, so every received block was sent unasked.
    Object.assign(rawInternals, { handleIHave: () => [] })
    const prune = {
      subscriptions: [],
      messages: [],
      control: { ihave: [], iwant: [], graft: [], idontwant: [], prune: [{ topicID: TOPIC, peers: [], backoff: 60 }] },
    }
    rawInternals.sendRpc(relay.node.peerId, prune)
    await until('the pruned mesh', () => relay.node.meshSize() === 1)
    const before = raw.received()
    const block = testBlock(config)
    await sequencer.node.publish(block)
    await until('the block', () => raw.received() === before + 1)
  })
})
