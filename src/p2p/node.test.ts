import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { DecodeError, UsageError } from '../lib/errors.ts'
import { P2pError } from './errors.ts'
import type { P2pModules } from './node.ts'
import type { P2pOptions } from './options.ts'
import { startTcpProxy } from './testUtils/tcpProxy.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from './testUtils/testChain.ts'
import { startTestNode, type TestNode, until } from './testUtils/testNode.ts'

const running: TestNode[] = []

async function start(options: Partial<P2pOptions> = {}, modules: Partial<P2pModules> = {}): Promise<TestNode> {
  const started = await startTestNode(options, modules)
  running.push(started)
  return started
}

async function stop(...nodes: TestNode[]): Promise<void> {
  await Promise.all(nodes.map(({ node }) => node.stop()))
  for (const node of nodes) running.splice(running.indexOf(node), 1)
}

afterEach(() => stop(...running))

const config = testConfig()

/** A sequencer and `count` followers that have it as their static peer, all in one mesh. */
async function network(count: number): Promise<[TestNode, ...TestNode[]]> {
  const sequencer = await start({ sequencerKey: SEQUENCER_KEY })
  const followers = await Promise.all(Array.from({ length: count }, () => start({ staticPeers: [sequencer.address] })))
  await until('a full mesh', () => sequencer.node.meshSize() === count)
  return [sequencer, ...followers]
}

describe('gossip', () => {
  it('brings a published block to every node, once', async () => {
    const [sequencer, ...followers] = await network(3)
    for (let blockNumber = 1; blockNumber <= 3; blockNumber++) {
      const block = testBlock(config, { blockNumber })
      const arrived = Promise.all(followers.map((follower) => follower.block(block.payload.blockHash)))
      await sequencer.node.publish(block)
      for (const received of await arrived) expect(received).toEqual(block)
    }
    for (const follower of followers) expect(follower.received).toHaveLength(3)
    expect(sequencer.received).toHaveLength(0)
  })

  it('passes blocks on along a chain of nodes', async () => {
    const a = await start({ sequencerKey: SEQUENCER_KEY })
    const b = await start({ staticPeers: [a.address] })
    const c = await start({ staticPeers: [b.address] })
    await until('meshes', () => b.node.meshSize() === 2 && a.node.meshSize() === 1 && c.node.meshSize() === 1)
    const block = testBlock(config)
    const arrived = c.block(block.payload.blockHash)
    await a.node.publish(block)
    await arrived
    expect((await c.node.peers(true)).totalConnected).toBe(1)
  })

  it.each(['regolith', 'canyon', 'isthmus', 'jovian'] as const)('carries blocks of %s on their topic', async (fork) => {
    const chain = { config: testConfig(fork), signerAddress: () => signer, payloadByNumber: async () => undefined }
    const { SEQUENCER_ADDRESS: signer } = await import('./testUtils/testChain.ts')
    const a = await start({ sequencerKey: SEQUENCER_KEY }, { chain })
    const b = await start({ staticPeers: [a.address] }, { chain })
    await until('a mesh', () => a.node.meshSize() === 1)
    const block = testBlock(chain.config, fork === 'jovian' ? { blobGasUsed: 4_000n } : {})
    const arrived = b.block(block.payload.blockHash)
    await a.node.publish(block)
    expect(await arrived).toEqual(block)
  })

  it('works over mplex and plaintext when told so', async () => {
    const wire: Partial<P2pOptions> = { muxers: ['mplex'], security: ['none'] }
    const a = await start({ ...wire, sequencerKey: SEQUENCER_KEY })
    const b = await start({ ...wire, staticPeers: [a.address] })
    await until('a mesh', () => a.node.meshSize() === 1)
    const block = testBlock(config)
    const arrived = b.block(block.payload.blockHash)
    await a.node.publish(block)
    await arrived
  })

  it('carries a block of 2 MB', async () => {
    const [sequencer, follower] = await network(1)
    const noise = new Uint8Array(2_000_000).map((_, index) => (index * 2_654_435_761) >>> 13)
    const block = testBlock(config, { transactions: [noise] })
    const arrived = follower?.block(block.payload.blockHash)
    await sequencer.node.publish(block)
    expect(await arrived).toEqual(block)
  })

  it('publishes nothing without a key, and says which block', async () => {
    const { node } = await start()
    const block = testBlock(config)
    const error = await node.publish(block).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(P2pError)
    expect(error).toMatchObject({
      code: 'no-signer',
      message: `node has no p2p signer, payload ${block.payload.blockHash} cannot be published`,
    })
  })

  it('is counted', async () => {
    const [sequencer, follower] = await network(1)
    const block = testBlock(config)
    const arrived = follower?.block(block.payload.blockHash)
    await sequencer.node.publish(block)
    await arrived
    const sent = await sequencer.registry.metrics()
    expect(sent).toContain('op_node_default_p2p_peer_count 1')
    expect(sent).toContain('op_node_default_p2p_gossip_events_total{type="PUBLISH_MESSAGE"} 1')
    const got = (await follower?.registry.metrics()) ?? ''
    expect(got).toContain('op_node_default_p2p_gossip_events_total{type="DELIVER_MESSAGE"} 1')
    expect(got).toContain('op_node_default_unsafe_payloads_total 1')
    expect(got).toContain('op_node_default_p2p_dials{allow="true"}')
    for (const type of ['RECV_RPC', 'SEND_RPC', 'JOIN', 'GRAFT', 'ADD_PEER']) {
      expect(got).toMatch(new RegExp(`p2p_gossip_events_total\\{type="${type}"\\} [1-9]`))
    }
    expect(got).toMatch(/p2p_stream_count [1-9]/)
    await follower?.node.stop()
    expect(await follower?.registry.metrics()).toContain('op_node_default_p2p_gossip_events_total{type="LEAVE"} 4')
  })

  it('is measured where bytes pass: what one node sends the other receives, after the connection has ended too', async () => {
    const [sequencer, follower] = await network(1)
    const noise = randomBytes(100_000)
    const block = testBlock(config, { transactions: [noise] })
    const arrived = follower?.block(block.payload.blockHash)
    await sequencer.node.publish(block)
    await arrived
    const bandwidth = async (node: TestNode | undefined, direction: string) => {
      const text = (await node?.registry.metrics()) ?? ''
      return Number(new RegExp(`p2p_bandwidth_bytes_total\\{direction="${direction}"\\} (\\d+)`).exec(text)?.[1])
    }
    expect(await bandwidth(follower, 'in')).toBeGreaterThan(noise.length)
    expect(await bandwidth(follower, 'out')).toBeLessThan(noise.length)
    await sequencer.node.disconnectPeer(follower?.node.peerId ?? '')
    await until('the end of the connection', () => follower?.node.connectedPeers().length === 0)
    expect(await bandwidth(sequencer, 'out')).toBeGreaterThan(noise.length)
    expect(await bandwidth(follower, 'in')).toBeGreaterThan(noise.length)
  })
})

describe('static peers', () => {
  it('are found again after they were gone, and blocks flow', async () => {
    const key = new Uint8Array(32).fill(0x11)
    const first = await start({ privateKey: key, sequencerKey: SEQUENCER_KEY })
    const port = Number(/\/tcp\/(\d+)/.exec(first.address)?.[1])
    const follower = await start({ staticPeers: [first.address] })
    await until('a mesh', () => first.node.meshSize() === 1)
    await stop(first)
    await until('the disconnection', () => follower.node.connectedPeers().length === 0)
    const second = await start({ privateKey: key, sequencerKey: SEQUENCER_KEY, listenTcpPort: port })
    expect(second.address).toBe(first.address)
    await until('the mesh again', () => second.node.meshSize() === 1, 20_000)
    const block = testBlock(config)
    const arrived = follower.block(block.payload.blockHash)
    await second.node.publish(block)
    await arrived
  })

  it('may be named by host', async () => {
    const a = await start()
    const b = await start({ staticPeers: [a.address.replace('/ip4/127.0.0.1/', '/dns4/localhost/')] })
    await until('the connection', () => b.node.connectedPeers().length === 1)
  })

  it('may be each other’s, dialled at the same time', async () => {
    const keys = [1, 2].map((n) => new Uint8Array(32).fill(n))
    const [portA, portB] = [await freePort(), await freePort()]
    const { identityFromRawKey } = await import('./host/identity.ts')
    const ids = keys.map((key) => identityFromRawKey(key).peerId.toString())
    const [a, b] = await Promise.all([
      start({
        privateKey: keys[0] ?? new Uint8Array(),
        listenTcpPort: portA,
        staticPeers: [`/ip4/127.0.0.1/tcp/${portB}/p2p/${ids[1]}`, `/ip4/127.0.0.1/tcp/${portA}/p2p/${ids[0]}`],
        sequencerKey: SEQUENCER_KEY,
      }),
      start({
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
    const sequencer = await start({ sequencerKey: SEQUENCER_KEY, liveness })
    const proxy = await startTcpProxy(Number(/\/tcp\/(\d+)/.exec(sequencer.address)?.[1]))
    const address = `/ip4/127.0.0.1/tcp/${proxy.port}/p2p/${sequencer.node.peerId}`
    const follower = await start({ staticPeers: [address], liveness })
    await until('the mesh', () => sequencer.node.meshSize() === 1 && follower.node.meshSize() === 1)
    return { sequencer, follower, proxy }
  }
  let blockNumber = 0
  async function expectBlock(sequencer: TestNode, follower: TestNode, timeoutMs: number) {
    await until(
      'a block to arrive',
      async () => {
        const block = testBlock(config, { blockNumber: blockNumber++ })
        await sequencer.node.publish(block)
        await new Promise((resolve) => setTimeout(resolve, 50))
        return follower.received.some((envelope) => envelope.payload.blockHash === block.payload.blockHash)
      },
      timeoutMs,
    )
  }

  it('that is closed is opened again as soon as it can be', async () => {
    const { sequencer, follower, proxy } = await linked()
    proxy.cut()
    await until('the loss', () => follower.node.connectedPeers().length === 0 && sequencer.node.meshSize() === 0)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    proxy.allow()
    await expectBlock(sequencer, follower, 8_000)
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
    await expectBlock(sequencer, follower, 8_000)
    expect(sequencer.node.connectedPeers()).toEqual([follower.node.peerId])
    await until('the dead connection to be closed', async () =>
      (await sequencer.registry.metrics()).includes('op_node_default_p2p_peer_count 1\n'),
    )
    await proxy.close()
  })
})

describe('identity and listening', () => {
  it('keeps the peer id over a restart', async () => {
    const privateKeyPath = join(await mkdtemp(join(tmpdir(), 'devium-p2p-')), 'key.txt')
    const first = await start({ privateKeyPath })
    await stop(first)
    const second = await start({ privateKeyPath })
    expect(second.node.peerId).toBe(first.node.peerId)
  })

  it('says in one line that the port is taken', async () => {
    const first = await start()
    const port = Number(/\/tcp\/(\d+)/.exec(first.address)?.[1])
    const error = await startTestNode({ listenTcpPort: port }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UsageError)
    expect(String(error)).toContain(`127.0.0.1:${port}`)
  })

  it.each<[Partial<P2pOptions>, string]>([
    [{ staticPeers: ['1.2.3.4:9222'] }, '--p2p.static: bad peer address: failed to parse multiaddr "1.2.3.4:9222"'],
    [{ staticPeers: ['/ip4/1.2.3.4/tcp/9222'] }, '--p2p.static: bad peer address: /ip4/1.2.3.4/tcp/9222 has no /p2p/'],
    [{ listenIp: 'localhost' }, '--p2p.listen.ip: localhost is no IP address'],
    [{ ipColocationExempt: ['10.0.0.0'] }, '--p2p.score.ip-exempt: invalid CIDR address: 10.0.0.0'],
    [{ advertiseIp: 'no-such-host.invalid', advertiseTcpPort: 9222 }, 'cannot resolve --p2p.advertise.ip'],
    [{ advertiseIp: '1.2.3.4' }, '--p2p.advertise.ip needs --p2p.advertise.tcp'],
    [{ security: ['none', 'noise'] }, 'cannot mix secure transport protocols'],
    [{ peerStorePath: '' }, "use 'memory'"],
  ])('refuses %o, and holds no file open then', async (options, message) => {
    const peerStorePath = join(await mkdtemp(join(tmpdir(), 'devium-p2p-')), 'store')
    const error = await startTestNode({ peerStorePath, ...options }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UsageError)
    expect(String(error)).toContain(message)
    await start({ peerStorePath })
  })

  it('refuses a peer store that another node holds', async () => {
    const peerStorePath = join(await mkdtemp(join(tmpdir(), 'devium-p2p-')), 'store')
    await start({ peerStorePath })
    const error = await startTestNode({ peerStorePath }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UsageError)
    expect(String(error)).toContain('in use by another process')
  })

  it('announces the address it is told to', async () => {
    const port = await freePort()
    const { node } = await start({ listenTcpPort: port, advertiseIp: '203.0.113.7', advertiseTcpPort: 9333 })
    expect(node.multiaddrs()).toEqual([`/ip4/203.0.113.7/tcp/9333/p2p/${node.peerId}`])
  })
})

describe('block lists', () => {
  it('close a connection at once, survive a restart, and let the peer return when lifted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'devium-p2p-'))
    const mine: Partial<P2pOptions> = {
      privateKeyPath: join(folder, 'key.txt'),
      peerStorePath: join(folder, 'store'),
      listenTcpPort: await freePort(),
    }
    const first = await start(mine)
    const other = await start({ staticPeers: [first.address] })
    const otherId = other.node.peerId
    await until('the connection', () => first.node.connectedPeers().length === 1)

    await first.node.blockPeer(otherId)
    await until('the disconnection', () => first.node.connectedPeers().length === 0)
    expect(await first.node.listBlockedPeers()).toEqual([otherId])
    const refused = await first.node.connectPeer(other.address).catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({
      code: 'dial-failed',
      message: `failed to dial: failed to dial ${otherId}: gater disallows connection to peer`,
    })

    await first.node.protectPeer(otherId)
    await stop(first)
    const second = await start(mine)
    expect(await second.node.listBlockedPeers()).toEqual([otherId])
    expect((await second.node.peerScore(otherId))[0]).toMatchObject({ protected: true, blocked: true })
    expect((await second.node.peers(true)).bannedPeers).toEqual([otherId])
    // The other side keeps dialling: a few of its tries must have been turned away.
    await until('refused tries', async () => refusals(await second.registry.metrics()) >= 1, 15_000)
    expect(second.node.connectedPeers()).toEqual([])

    await second.node.unblockPeer(otherId)
    await until('the return', () => second.node.connectedPeers().length === 1, 20_000)
    expect(await second.node.listBlockedPeers()).toEqual([])

    function refusals(metrics: string): number {
      return Number(/p2p_accepts\{allow="true"\} (\d+)/.exec(metrics)?.[1] ?? 0)
    }
  }, 60_000)

  it.each([
    ['address', '127.0.0.1'],
    ['subnet', '127.0.0.0/8'],
  ] as const)('work by %s', async (kind, text) => {
    const a = await start()
    const b = await start({ staticPeers: [a.address] })
    await until('the connection', () => a.node.connectedPeers().length === 1)
    if (kind === 'address') await a.node.blockAddr(text)
    else await a.node.blockSubnet(text)
    await until('the disconnection', () => a.node.connectedPeers().length === 0)
    const dump = await a.node.peers(false)
    expect([...dump.bannedIPS, ...dump.bannedSubnets]).toEqual([text])
    if (kind === 'address') await a.node.unblockAddr(text)
    else await a.node.unblockSubnet(text)
    await until('the return', () => b.node.connectedPeers().length === 1, 20_000)
  })

  it('refuse what is no peer id, IP or subnet', async () => {
    const { node } = await start()
    await expect(node.blockPeer('xx')).rejects.toBeInstanceOf(DecodeError)
    await expect(node.blockAddr('zz')).rejects.toThrow('invalid IP address: zz')
    await expect(node.blockSubnet('10.0.0.0')).rejects.toThrow('invalid CIDR address: 10.0.0.0')
    await expect(node.unblockPeer(node.peerId)).resolves.toBeUndefined()
    await expect(node.unblockAddr('1.2.3.4')).resolves.toBeUndefined()
    const unknown = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'
    await expect(node.disconnectPeer(unknown)).resolves.toBeUndefined()
    await expect(node.unprotectPeer(unknown)).resolves.toBeUndefined()
  })
})

describe('bans', () => {
  it('close the connection, survive a restart, and are lifted by unblocking', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'devium-p2p-'))
    // Every peer that is not static stands below this threshold.
    const strict: Partial<P2pOptions> = {
      privateKeyPath: join(folder, 'key.txt'),
      peerStorePath: join(folder, 'store'),
      ban: { enabled: true, threshold: 1, durationMs: 3_600_000 },
    }
    const trusted = await start()
    const stranger = await start()
    const first = await start({ ...strict, staticPeers: [trusted.address] })
    await first.node.connectPeer(stranger.address)
    await until('the ban', () => first.node.connectedPeers().length === 1)
    expect(first.node.connectedPeers()).toEqual([trusted.node.peerId])
    expect(await first.node.listBlockedPeers()).toEqual([])
    await stop(first)
    const second = await start({ ...strict, ban: { enabled: false, threshold: 1, durationMs: 1 } })
    await expect(second.node.connectPeer(stranger.address)).rejects.toThrow('failed to dial')
    await second.node.unblockPeer(stranger.node.peerId)
    await second.node.connectPeer(stranger.address)
    expect(second.node.connectedPeers()).toContain(stranger.node.peerId)
    expect(await second.registry.metrics()).toContain('op_node_default_p2p_peer_unbans 1')
  })
})

describe('connecting by hand', () => {
  it('connects, identifies, protects and disconnects', async () => {
    const [a, b] = await Promise.all([start(), start()])
    await a.node.connectPeer(b.address)
    const record = (await a.node.peers(true)).peers[b.node.peerId]
    expect(record).toMatchObject({ connectedness: 1, direction: 2, userAgent: 'optimism', protected: false })
    await a.node.connectPeer(b.address)
    await a.node.protectPeer(b.node.peerId)
    expect((await a.node.peers(true)).peers[b.node.peerId]?.protected).toBe(true)
    await a.node.unprotectPeer(b.node.peerId)
    expect((await a.node.peers(true)).peers[b.node.peerId]?.protected).toBe(false)
    await a.node.disconnectPeer(b.node.peerId)
    expect(a.node.connectedPeers()).toEqual([])
    await until('the other side', () => b.node.connectedPeers().length === 0)
  })

  it.each([
    ['bad', 'bad peer address: failed to parse multiaddr "bad": must begin with /'],
    ['/ip4/127.0.0.1/tcp/1', 'bad peer address: /ip4/127.0.0.1/tcp/1 has no /p2p/ part'],
    ['/ip4/999.0.0.1/tcp/1', 'bad peer address: '],
  ])('names what is wrong with %s', async (text, message) => {
    const { node } = await start()
    const error = await node.connectPeer(text).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'bad-peer-address' })
    expect(String(error)).toContain(message)
  })

  it('does not dial itself, and reports a closed port', async () => {
    const { node, address } = await start()
    await expect(node.connectPeer(address)).rejects.toThrow('failed to dial: dial to self attempted')
    const away = `/ip4/127.0.0.1/tcp/${await freePort()}/p2p/16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc`
    await expect(node.connectPeer(away)).rejects.toThrow('failed to dial: failed to dial 16Uiu2HAm7y9o')
  })
})

describe("op-node's shapes", () => {
  it('has them for self, peers and peerStats', async () => {
    const [a, b] = await network(1)
    const golden: { result: { peers: Record<string, unknown> } } = JSON.parse(
      readFileSync(new URL('./testUtils/opNodePeers.json', import.meta.url), 'utf8'),
    )
    const { timeBans, ...dump } = await a.node.peers(true)
    expect(timeBans).toEqual({ peers: [], ips: [] })
    expect(shapeOf(dump, 1)).toEqual(shapeOf(golden.result, 1))
    const [goldenPeer] = Object.values(golden.result.peers)
    expect(shapeOf(dump.peers[b?.node.peerId ?? ''])).toEqual(shapeOf(goldenPeer))
    expect(shapeOf(await a.node.self())).toEqual(shapeOf(goldenPeer))
    expect(await a.node.self()).toMatchObject({
      peerID: a.node.peerId,
      connectedness: 0,
      direction: 0,
      gossipBlocks: true,
      addresses: [a.address],
    })
    expect(await a.node.peerStats()).toEqual({
      connected: 1,
      table: 0,
      blocksTopic: 1,
      blocksTopicV2: 1,
      blocksTopicV3: 1,
      blocksTopicV4: 1,
      banned: 0,
      timeBanned: 0,
      known: 2,
    })
    const all = await a.node.peers(false)
    expect(Object.keys(all.peers).sort()).toEqual([a.node.peerId, b?.node.peerId].sort())
    expect(JSON.parse(JSON.stringify(all))).toEqual(all)
    await expect(a.node.discoveryTable()).rejects.toThrow('discovery disabled')
  })
})

/** Names and types of an object's members, `depth` levels down. */
function shapeOf(value: unknown, depth = 5): unknown {
  if (Array.isArray(value) || value === null) return 'list or null'
  if (typeof value !== 'object' || depth === 0) return typeof value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([x], [y]) => x.localeCompare(y))
      .map(([key, member]) => [key, shapeOf(member, depth - 1)]),
  )
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
