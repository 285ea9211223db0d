import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeError } from '../lib/errors.ts'
import { errorWith } from '../lib/testUtils/errorWith.ts'
import { until } from '../lib/testUtils/until.ts'
import { P2pError } from './base/errors.ts'
import type { P2pOptions } from './base/options.ts'
import { folderInTest, nodeInTest } from './testUtils/inTest.ts'
import { expectDelivery, networkInTest } from './testUtils/network.ts'
import { SEQUENCER_ADDRESS, SEQUENCER_KEY, testBlock, testChain, testConfig } from './testUtils/testChain.ts'
import { startTestNode, type TestNode, tcpPortOf } from './testUtils/testNode.ts'

const config = testConfig()

describe('gossip', () => {
  it('delivers a published block to every node once', async () => {
    const [sequencer, ...followers] = await networkInTest(3)
    for (let blockNumber = 1; blockNumber <= 3; blockNumber++) {
      const block = testBlock(config, { blockNumber })
      const arrived = Promise.all(followers.map((follower) => follower.block(block.payload.blockHash)))
      await sequencer.node.publish(block)
      for (const received of await arrived) expect(received).toEqual(block)
    }
    for (const follower of followers) expect(follower.received).toHaveLength(3)
    expect(sequencer.received).toHaveLength(0)
  })

  it.each(['regolith', 'canyon', 'isthmus', 'jovian'] as const)('carries blocks of %s on their topic', async (fork) => {
    const chain = testChain(testConfig(fork))
    const [a, b] = await networkInTest(1, {}, { chain })
    await expectDelivery(a, b, testBlock(chain.config, fork === 'jovian' ? { blobGasUsed: 4_000n } : {}))
  })

  it('works over mplex and plaintext if they are configured', async () => {
    const [a, b] = await networkInTest(1, { muxers: ['mplex'], security: ['none'] })
    await expectDelivery(a, b)
  })

  it('refuses to publish without a key, and names the block', async () => {
    const { node } = await nodeInTest()
    const block = testBlock(config)
    const error = await node.publish(block).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(P2pError)
    expect(error).toEqual(errorWith('no-signer', block.payload.blockHash, '--p2p.sequencer.key', '--signer.endpoint'))
  })

  it('is counted in the metrics', async () => {
    const [sequencer, follower] = await networkInTest(1)
    await expectDelivery(sequencer, follower)
    const events = (of: TestNode, type: string) => of.metric(`p2p_gossip_events_total{type="${type}"}`)
    expect(await sequencer.metric('p2p_peer_count')).toBe(1)
    expect(await events(sequencer, 'PUBLISH_MESSAGE')).toBe(1)
    expect(await events(follower, 'DELIVER_MESSAGE')).toBe(1)
    expect(await follower.metric('unsafe_payloads_total')).toBe(1)
    expect(await follower.metric('p2p_dials{allow="true"}')).toBeGreaterThan(0)
    for (const type of ['RECV_RPC', 'SEND_RPC', 'JOIN', 'GRAFT', 'ADD_PEER']) {
      expect(await events(follower, type), type).toBeGreaterThan(0)
    }
    expect(await follower.metric('p2p_stream_count')).toBeGreaterThan(0)
    await follower.node.stop()
    expect(await events(follower, 'LEAVE')).toBe(4)
  })

  it('bandwidth counters of both sides agree, also after the connection has ended', async () => {
    const [sequencer, follower] = await networkInTest(1)
    const noise = new Uint8Array(randomBytes(100_000))
    await expectDelivery(sequencer, follower, testBlock(config, { transactions: [noise] }))
    const bandwidth = (of: TestNode, direction: string) =>
      of.metric(`p2p_bandwidth_bytes_total{direction="${direction}"}`)
    expect(await bandwidth(follower, 'in')).toBeGreaterThan(noise.length)
    expect(await bandwidth(follower, 'out')).toBeLessThan(noise.length)
    await sequencer.node.disconnectPeer(follower.node.peerId)
    await until('the end of the connection', () => follower.node.connectedPeers().length === 0)
    expect(await bandwidth(sequencer, 'out')).toBeGreaterThan(noise.length)
    expect(await bandwidth(follower, 'in')).toBeGreaterThan(noise.length)
  })
})

describe('start options', () => {
  const remoteSigner = { endpoint: 'http://127.0.0.1:1', address: SEQUENCER_ADDRESS, headers: {} }

  it.each<[Partial<P2pOptions>, string[]]>([
    [{ staticPeers: ['1.2.3.4:9222'] }, ['--p2p.static', '1.2.3.4:9222']],
    [{ staticPeers: ['/ip4/1.2.3.4/tcp/9222'] }, ['--p2p.static', '/ip4/1.2.3.4/tcp/9222', '/p2p/']],
    [{ listenIp: 'localhost' }, ['--p2p.listen.ip', 'localhost']],
    [{ ipColocationExempt: ['10.0.0.0'] }, ['--p2p.score.ip-exempt', '10.0.0.0']],
    [{ advertiseIp: 'no-such-host.invalid', advertiseTcpPort: 9222 }, ['--p2p.advertise.ip', 'no-such-host.invalid']],
    [{ listenIp: 'fe80::1%lo' }, ['--p2p.listen.ip', 'fe80::1%lo']],
    [{ advertiseIp: 'fe80::1%lo' }, ['--p2p.advertise.ip', 'fe80::1%lo']],
    [{ security: ['none', 'noise'] }, ['--p2p.security']],
    [{ peerStorePath: '' }, ['--p2p.peerstore.path', 'memory']],
    [{ remoteSigner }, ['--signer.endpoint', 'http://127.0.0.1:1']],
    [{ remoteSigner, sequencerKey: SEQUENCER_KEY }, ['--p2p.sequencer.key', '--signer.endpoint']],
  ])('refuses %o, and leaves no file open', async (options, named) => {
    const peerStorePath = join(await folderInTest(), 'store')
    const error = await startTestNode({ peerStorePath, ...options }).catch((thrown: unknown) => thrown)
    expect(error).toEqual(errorWith('usage', ...named))
    await nodeInTest({ peerStorePath })
  })

  it('reports a port in use in one line', async () => {
    const { address } = await nodeInTest()
    const port = tcpPortOf(address)
    const error = await startTestNode({ listenTcpPort: port }).catch((thrown: unknown) => thrown)
    expect(error).toEqual(errorWith('usage', `127.0.0.1:${port}`))
    expect(describeError(error)).not.toContain('\n')
  })
})
