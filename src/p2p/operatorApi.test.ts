import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTcpProxy } from '../../testnet/links/tcpProxy.ts'
import { errorWith } from '../lib/testUtils/errorWith.ts'
import { until } from '../lib/testUtils/until.ts'
import { keptInTest, nodeInTest } from './testUtils/inTest.ts'
import { networkInTest } from './testUtils/network.ts'
import { tcpPortOf } from './testUtils/testNode.ts'

describe('block lists', () => {
  it('close a connection at once, survive a restart, and let the peer return when lifted', async () => {
    const mine = await keptInTest()
    const first = await nodeInTest(mine)
    // Nobody may take the address between the two runs.
    let running = first
    const link = await startTcpProxy(() => tcpPortOf(running.address))
    onTestFinished(() => link.close())
    const other = await nodeInTest({ staticPeers: [`/ip4/127.0.0.1/tcp/${link.port}/p2p/${first.node.peerId}`] })
    const otherId = other.node.peerId
    await until('the connection', () => first.node.connectedPeers().length === 1)

    await first.node.block(otherId, 'it sent old blocks')
    await until('the disconnection', () => first.node.connectedPeers().length === 0)
    expect(await first.node.listBlockedPeers()).toEqual([otherId])
    const refused = await first.node.connectPeer(other.address).catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({
      code: 'dial-failed',
      message: `failed to dial: failed to dial ${otherId}: gater disallows connection to peer`,
    })

    await first.node.protectPeer(otherId)
    await first.node.stop()
    const second = await nodeInTest(mine)
    running = second
    expect(await second.node.listBlockedPeers()).toEqual([otherId])
    expect(second.node.accessRules()).toEqual({
      blocks: [{ subject: otherId, kind: 'peer', reason: 'it sent old blocks', sinceMs: expect.any(Number) }],
      allow: null,
    })
    expect((await second.node.peerScore(otherId))[0]).toMatchObject({ protected: true, blocked: true })
    expect((await second.node.peers(true)).bannedPeers).toEqual([otherId])
    // The other node keeps dialling. A few of its attempts must have been refused.
    await until('refused tries', async () => (await second.metric('p2p_accepts{allow="true"}')) >= 1)
    expect(second.node.connectedPeers()).toEqual([])

    await second.node.unblockPeer(otherId)
    await until('the return', () => second.node.connectedPeers().length === 1)
    expect(await second.node.listBlockedPeers()).toEqual([])
  })

  it.each([
    ['address', '127.0.0.1'],
    ['subnet', '127.0.0.0/8'],
  ] as const)('block by %s', async (kind, text) => {
    const a = await nodeInTest()
    const b = await nodeInTest({ staticPeers: [a.address] })
    await until('the connection', () => a.node.connectedPeers().length === 1)
    await a.node.block(text)
    expect(a.node.accessRules().blocks).toMatchObject([{ subject: text, kind, reason: '' }])
    await until('the disconnection', () => a.node.connectedPeers().length === 0)
    const dump = await a.node.peers(false)
    expect([...dump.bannedIPS, ...dump.bannedSubnets]).toEqual([text])
    if (kind === 'address') await a.node.unblockAddr(text)
    else await a.node.unblockSubnet(text)
    await until('the return', () => b.node.connectedPeers().length === 1)
  })

  it("refuse invalid ids, IPs and subnets, and the node's own id", async () => {
    const { node } = await nodeInTest()
    for (const text of ['xx', '16Uiu2', `${node.peerId}x`]) {
      await expect(node.blockPeer(text)).rejects.toThrow(errorWith('decode'))
    }
    await expect(node.blockPeer(node.peerId)).rejects.toThrow(errorWith('own-peer-id'))
    expect(await node.listBlockedPeers()).toEqual([])
    await expect(node.blockAddr('zz')).rejects.toThrow(errorWith('decode', 'zz'))
    await expect(node.blockSubnet('10.0.0.0')).rejects.toThrow(errorWith('decode', '10.0.0.0'))
    await expect(node.unblockPeer(node.peerId)).resolves.toBeUndefined()
    await expect(node.unblockAddr('1.2.3.4')).resolves.toBeUndefined()
    const unknown = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'
    await expect(node.disconnectPeer(unknown)).resolves.toBeUndefined()
    await expect(node.unprotectPeer(unknown)).resolves.toBeUndefined()
  })
})

describe('connecting by hand', () => {
  it('connects, identifies, protects and disconnects', async () => {
    const [a, b] = await Promise.all([nodeInTest(), nodeInTest()])
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
    ['bad', '"bad"'],
    ['/ip4/127.0.0.1/tcp/1', '/ip4/127.0.0.1/tcp/1 '],
    ['/ip4/999.0.0.1/tcp/1', '999.0.0.1'],
    ['/ip4/127.0.0.1/tcp/1/p2p/16Uiu2', 'peer ID'],
  ])('refuses %s and names the problem', async (text, named) => {
    const { node } = await nodeInTest()
    await expect(node.connectPeer(text)).rejects.toThrow(errorWith('bad-peer-address', named))
  })

  it('refuses to dial itself', async () => {
    const { node, address } = await nodeInTest()
    await expect(node.connectPeer(address)).rejects.toThrow('failed to dial: dial to self attempted')
  })
})

it("self, peers and peerStats return op-node's shapes", async () => {
  const [a, b] = await networkInTest(1)
  const golden: { result: { peers: Record<string, unknown> } } = JSON.parse(
    readFileSync(new URL('./testUtils/opNodePeers.json', import.meta.url), 'utf8'),
  )
  const { timeBans, ...dump } = await a.node.peers(true)
  expect(timeBans).toEqual([])
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
  await expect(a.node.discoveryTable()).rejects.toThrow(errorWith('discovery-disabled'))
  expect((await a.node.self()).ENR).toBe('')
})

it('counts a peer as known from its connection until it is deleted', async () => {
  const a = await nodeInTest()
  const known = async () => (await a.node.peerStats()).known
  const [b, c] = [await nodeInTest(), await nodeInTest()]
  await a.node.connectPeer(b.address)
  expect(await known()).toBe(2)
  await a.node.disconnectPeer(b.node.peerId)
  expect(await known()).toBe(1)
  await a.node.connectPeer(c.address)
  expect(await known()).toBe(2)
})

/** Names and types of an object's members, `depth` levels deep. */
function shapeOf(value: unknown, depth = 5): unknown {
  if (Array.isArray(value) || value === null) return 'list or null'
  if (typeof value !== 'object' || depth === 0) return typeof value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([x], [y]) => x.localeCompare(y))
      .map(([key, member]) => [key, shapeOf(member, depth - 1)]),
  )
}
