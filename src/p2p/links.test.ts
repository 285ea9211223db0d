import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { nodeInTest } from './testUtils/inTest.ts'
import { closedPort } from './testUtils/rawServer.ts'
import { startTcpProxy } from './testUtils/tcpProxy.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from './testUtils/testChain.ts'
import { type TestNode, until } from './testUtils/testNode.ts'

const config = testConfig()

describe('static peers', () => {
  it('are found again after they were gone, and blocks flow', async () => {
    const key = new Uint8Array(32).fill(0x11)
    const first = await nodeInTest({ privateKey: key, sequencerKey: SEQUENCER_KEY })
    const port = Number(/\/tcp\/(\d+)/.exec(first.address)?.[1])
    const follower = await nodeInTest({ staticPeers: [first.address] })
    await until('a mesh', () => first.node.meshSize() === 1)
    await first.node.stop()
    await until('the disconnection', () => follower.node.connectedPeers().length === 0)
    const second = await nodeInTest({ privateKey: key, sequencerKey: SEQUENCER_KEY, listenTcpPort: port })
    expect(second.address).toBe(first.address)
    await until('the mesh again', () => second.node.meshSize() === 1)
    const block = testBlock(config)
    const arrived = follower.block(block.payload.blockHash)
    await second.node.publish(block)
    await arrived
  })

  it('may be named by host', async () => {
    const a = await nodeInTest()
    const b = await nodeInTest({ staticPeers: [a.address.replace('/ip4/127.0.0.1/', '/dns4/localhost/')] })
    await until('the connection', () => b.node.connectedPeers().length === 1)
  })

  it('may be each other’s, dialled at the same time', async () => {
    const keys = [1, 2].map((n) => new Uint8Array(32).fill(n))
    const [portA, portB] = [await closedPort(), await closedPort()]
    const { identityFromRawKey } = await import('./host/identity.ts')
    const ids = keys.map((key) => identityFromRawKey(key).peerId.toString())
    const [a, b] = await Promise.all([
      nodeInTest({
        privateKey: keys[0] ?? new Uint8Array(),
        listenTcpPort: portA,
        staticPeers: [`/ip4/127.0.0.1/tcp/${portB}/p2p/${ids[1]}`, `/ip4/127.0.0.1/tcp/${portA}/p2p/${ids[0]}`],
        sequencerKey: SEQUENCER_KEY,
      }),
      nodeInTest({
        privateKey: keys[1] ?? new Uint8Array(),
        listenTcpPort: portB,
        staticPeers: [`/ip4/127.0.0.1/tcp/${portA}/p2p/${ids[0]}`],
      }),
    ])
    await until('a mesh on both sides', () => a.node.meshSize() === 1 && b.node.meshSize() === 1)
    const block = testBlock(config)
    const arrived = b.block(block.payload.blockHash)
    await a.node.publish(block)
    await arrived
    expect((await a.node.peers(true)).peers[b.node.peerId]?.protected).toBe(true)
  })
})

describe('a broken link', () => {
  const liveness = { silentMs: 300, answerMs: 300, closeMs: 2_000 }

  /** A sequencer and a follower that reaches it through a proxy only. */
  async function linked() {
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY, liveness })
    const proxy = await startTcpProxy(Number(/\/tcp\/(\d+)/.exec(sequencer.address)?.[1]))
    const address = `/ip4/127.0.0.1/tcp/${proxy.port}/p2p/${sequencer.node.peerId}`
    const follower = await nodeInTest({ staticPeers: [address], liveness })
    await until('the mesh', () => sequencer.node.meshSize() === 1 && follower.node.meshSize() === 1)
    return { sequencer, follower, proxy }
  }
  let blockNumber = 0
  /** One of those that are made from now on. */
  async function expectBlock(sequencer: TestNode, follower: TestNode) {
    const made = new Set<string>()
    await until('a block to arrive', async () => {
      const block = testBlock(config, { blockNumber: blockNumber++ })
      made.add(block.payload.blockHash)
      await sequencer.node.publish(block)
      return follower.received.some(({ payload }) => made.has(payload.blockHash))
    })
  }
  const dialsOf = async ({ registry }: TestNode) =>
    Number(/p2p_dials\{allow="true"\} (\d+)/.exec(await registry.metrics())?.[1])

  it('that is closed is opened again as soon as it can be', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.cut()
    await until('the loss', () => follower.node.connectedPeers().length === 0 && sequencer.node.meshSize() === 0)
    const dials = await dialsOf(follower)
    await until('tries in vain', async () => (await dialsOf(follower)) >= dials + 2)
    proxy.allow()
    await expectBlock(sequencer, follower)
    await proxy.close()
  })

  it('that is slow is not taken for a dead one', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.set({ delayMs: 50, bytesPerSecond: 100_000 })
    const block = testBlock(config, { transactions: [new Uint8Array(randomBytes(400_000))] })
    const arrived = follower.block(block.payload.blockHash)
    const startMs = performance.now()
    await sequencer.node.publish(block)
    await arrived
    // Longer than a silent connection is left alone.
    expect(performance.now() - startMs).toBeGreaterThan(2_000)
    const [history] = await follower.node.peerHistory(sequencer.node.peerId)
    expect(history?.events.filter(({ kind }) => kind === 'disconnected')).toEqual([])
    expect(await sequencer.registry.metrics()).toContain('op_node_default_p2p_peer_count 1\n')
    await proxy.close()
  })

  it('that silently carries nothing is noticed on both sides, and blocks take the new one', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.freeze()
    await expectBlock(sequencer, follower)
    expect(sequencer.node.connectedPeers()).toEqual([follower.node.peerId])
    await until('the dead connection to be closed', async () =>
      (await sequencer.registry.metrics()).includes('op_node_default_p2p_peer_count 1\n'),
    )
    await proxy.close()
  })
})
