import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTcpProxy, type TcpProxy } from '../../testnet/links/tcpProxy.ts'
import { until } from '../lib/testUtils/until.ts'
import { identityFromRawKey } from './host/identity.ts'
import { nodeInTest } from './testUtils/inTest.ts'
import { expectDelivery } from './testUtils/network.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from './testUtils/testChain.ts'
import { type TestNode, tcpPortOf } from './testUtils/testNode.ts'

const config = testConfig()

describe('static peers', () => {
  it('can be given by host name, and are redialled after a disconnection', async () => {
    const key = new Uint8Array(32).fill(0x11)
    const first = await nodeInTest({ privateKey: key, sequencerKey: SEQUENCER_KEY })
    // Nobody may take the address between the two runs.
    let running = first
    const link = await startTcpProxy(() => tcpPortOf(running.address))
    onTestFinished(() => link.close())
    const named = `/dns4/localhost/tcp/${link.port}/p2p/${first.node.peerId}`
    const follower = await nodeInTest({ staticPeers: [named] })
    await until('a mesh', () => first.node.meshSize() === 1)
    await first.node.stop()
    await until('the disconnection', () => follower.node.connectedPeers().length === 0)
    const second = await nodeInTest({ privateKey: key, sequencerKey: SEQUENCER_KEY })
    running = second
    await until('the mesh again', () => second.node.meshSize() === 1)
    await expectDelivery(second, follower)
  })

  it('two nodes can be static peers of each other and dial at the same time', async () => {
    const [keyA, keyB] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    // Each node needs the other's address before the other listens.
    const toA = await startTcpProxy(() => tcpPortOf(a.address))
    const toB = await startTcpProxy(() => tcpPortOf(b.address))
    for (const link of [toA, toB]) link.pause()
    const addressOf = ({ port }: TcpProxy, key: Uint8Array) =>
      `/ip4/127.0.0.1/tcp/${port}/p2p/${identityFromRawKey(key).peerId}`
    const [atA, atB] = [addressOf(toA, keyA), addressOf(toB, keyB)]
    const [a, b] = await Promise.all([
      nodeInTest({ privateKey: keyA, staticPeers: [atB, atA], sequencerKey: SEQUENCER_KEY }),
      nodeInTest({ privateKey: keyB, staticPeers: [atA] }),
    ])
    onTestFinished(async () => void (await Promise.all([toA.close(), toB.close()])))
    await until('dials of both', () => toA.connections() === 1 && toB.connections() === 1)
    for (const link of [toA, toB]) link.allow()
    await until('a mesh on both sides', () => a.node.meshSize() === 1 && b.node.meshSize() === 1)
    await expectDelivery(a, b)
    expect((await a.node.peers(true)).peers[b.node.peerId]?.protected).toBe(true)
  })
})

describe('a broken link', () => {
  const liveness = { silentMs: 300, answerMs: 300, closeMs: 2_000 }

  /** A sequencer, and a follower that reaches it only through a proxy. */
  async function linked() {
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY, liveness })
    const proxy = await startTcpProxy(tcpPortOf(sequencer.address))
    const address = `/ip4/127.0.0.1/tcp/${proxy.port}/p2p/${sequencer.node.peerId}`
    const follower = await nodeInTest({ staticPeers: [address], liveness })
    await until('the mesh', () => sequencer.node.meshSize() === 1 && follower.node.meshSize() === 1)
    return { sequencer, follower, proxy }
  }
  let blockNumber = 0
  /** Waits for any block that is published from now on. */
  async function expectBlock(sequencer: TestNode, follower: TestNode) {
    const made = new Set<string>()
    await until('a block to arrive', async () => {
      const block = testBlock(config, { blockNumber: blockNumber++ })
      made.add(block.payload.blockHash)
      await sequencer.node.publish(block)
      return follower.received.some(({ payload }) => made.has(payload.blockHash))
    })
  }

  it('a closed link is opened again as soon as possible', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.cut()
    await until('the loss', () => follower.node.connectedPeers().length === 0 && sequencer.node.meshSize() === 0)
    const dials = () => follower.metric('p2p_dials{allow="true"}')
    const before = await dials()
    await until('tries in vain', async () => (await dials()) >= before + 2)
    proxy.allow()
    await expectBlock(sequencer, follower)
    await proxy.close()
  })

  it('a slow link is not closed as dead', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.set({ delayMs: 50, bytesPerSecond: 100_000 })
    const transactions = [new Uint8Array(randomBytes(400_000))]
    // At this rate the block takes four seconds, longer than the silence limit.
    await expectDelivery(sequencer, follower, testBlock(config, { transactions }))
    const events = await follower.events(sequencer.node.peerId)
    expect(events.filter(({ kind }) => kind === 'disconnected')).toEqual([])
    await until('a single connection', async () => (await sequencer.metric('p2p_peer_count')) === 1)
    await proxy.close()
  })

  it('both sides detect a silently dead link, and blocks use the new link', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.freeze()
    await expectBlock(sequencer, follower)
    expect(sequencer.node.connectedPeers()).toEqual([follower.node.peerId])
    const connections = () => sequencer.metric('p2p_peer_count')
    await until('the dead connection to be closed', async () => (await connections()) === 1)
    await proxy.close()
  })
})
