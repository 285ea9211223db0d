import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { blocksTopic, PAYLOAD_VERSIONS } from '../base/topics.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { networkInTest } from '../testUtils/network.ts'
import type { RawPeer } from '../testUtils/rawPeer.ts'
import { CHAIN_ID, SEQUENCER_KEY, TOPIC, testBlock, testConfig } from '../testUtils/testChain.ts'
import { controlRpc, gossipInternals } from './adapter.ts'

const config = testConfig()
async function startRaw(topics: readonly string[] = [TOPIC]) {
  const raw = await rawPeerInTest(topics)
  let count = 0
  raw.host.services.pubsub.addEventListener('message', () => {
    count += 1
  })
  return { ...raw, received: () => count }
}

/** The node's library prunes the peer, and does not graft it again for a minute. */
function leaveMesh(raw: RawPeer, nodeId: string): void {
  const gossip = gossipInternals(raw.host.services.pubsub)
  gossip.mesh.get(TOPIC)?.clear()
  // It requests nothing, so every received block was sent unasked.
  Object.assign(gossip, { handleIHave: () => [] })
  gossip.sendRpc(nodeId, controlRpc({ prune: [{ topicID: TOPIC, peers: [], backoff: 60 }] }))
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

  it('sends its own blocks to a static peer outside its mesh', async () => {
    const raw = await startRaw()
    const gossip = { meshD: 1, meshLow: 1, meshHigh: 1, meshLazy: 1, floodPublish: false, maxAgeS: 60 }
    // The peer itself connects, so this address is never reached.
    const staticPeers = [`/ip4/127.0.0.1/tcp/1/p2p/${raw.peerId}`]
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY, staticPeers, gossip })
    await raw.connect(sequencer.address)
    await until('the mesh', () => sequencer.node.meshSize() === 1)
    leaveMesh(raw, sequencer.node.peerId)
    await until('the pruned mesh', () => sequencer.node.meshSize() === 0)
    const other = await startRaw()
    await other.connect(sequencer.address)
    await until('a mesh without it', () => sequencer.node.meshSize() === 1)
    await sequencer.node.publish(testBlock(config))
    await until('the blocks', () => raw.received() + other.received() === 2)
  })

  it('forwards blocks to a peer outside its mesh while the mesh is small', async () => {
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const relay = await nodeInTest({ staticPeers: [sequencer.address] })
    const raw = await startRaw()
    await raw.connect(relay.address)
    await until('the mesh', () => relay.node.meshSize() === 2)
    leaveMesh(raw, relay.node.peerId)
    await until('the pruned mesh', () => relay.node.meshSize() === 1)
    const before = raw.received()
    const block = testBlock(config)
    await sequencer.node.publish(block)
    await until('the block', () => raw.received() === before + 1)
  })
})
