import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startTcpProxy } from '../../testnet/links/tcpProxy.ts'
import { errorWith } from '../lib/testUtils/errorWith.ts'
import { until } from '../lib/testUtils/until.ts'
import { settableClock } from './testUtils/clocks.ts'
import { hasIpv6 } from './testUtils/hasIpv6.ts'
import { keptInTest, nodeInTest, rawPeerInTest } from './testUtils/inTest.ts'
import { TOPIC } from './testUtils/testChain.ts'
import { type TestNode, tcpPortOf } from './testUtils/testNode.ts'

/** A peer that was banned for malformed messages. */
async function startBanned({ node, address }: TestNode, { afterConnecting = () => {} } = {}) {
  const raw = await rawPeerInTest([TOPIC])
  await raw.connect(address)
  afterConnecting()
  // Six are enough, but only for some seconds: their number decays.
  raw.publishDamaged(TOPIC, 8)
  await until('the ban', async () => {
    if ((await node.bans()).some(({ subject }) => subject === raw.peerId)) return true
    throw new Error(`no ban at ${JSON.stringify(await node.peerScore(raw.peerId))}`)
  })
  await until('its end', () => node.connectedPeers().length + raw.host.getConnections().length === 0)
  return raw
}
const unbanOf = async (test: TestNode, peerId: string) =>
  (await test.events(peerId)).find(({ kind }) => kind === 'unban')

describe('a ban for a score', () => {
  it('a ban for a score is listed with its reason, apart from the block list', async () => {
    const test = await nodeInTest()
    const raw = await startBanned(test)
    const dump = await test.node.peers(false)
    expect(dump).toMatchObject({ bannedPeers: [], timeBans: [raw.peerId] })
    expect(await test.node.peerStats()).toMatchObject({ banned: 0, timeBanned: 1 })
    const [ban] = await test.node.bans()
    expect(ban?.reason).toMatch(/-\d+\.\d\d .*-100.*\bv3\b.*snappy-damaged/)
    const [report] = await test.node.peerScore(raw.peerId)
    expect(report).toMatchObject({ blocked: false, ban: { reason: ban?.reason } })
    expect(report?.causes.rejections[0]).toMatchObject({ reason: 'snappy-damaged', count: 8, topics: [3] })
    const part = report?.topics.parts.find(({ topic }) => topic === TOPIC)
    expect(part?.invalidMessages.score).toBeLessThan(-100)
    expect(report?.thresholds.find(({ name }) => name === 'mesh')).toMatchObject({ below: true })
    await test.node.blockPeer(raw.peerId)
    expect(await test.node.peerStats()).toMatchObject({ banned: 1, timeBanned: 0 })
  })

  it('bans a peer also after the clock was set back', async () => {
    const test = await nodeInTest()
    const before = Date.now.bind(Date)
    const setBack = (): void => {
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => before() - 600_000)
      onTestFinished(() => clock.mockRestore())
    }
    await startBanned(test, { afterConnecting: setBack })
  })

  it('a ban expires, and the history records it', async () => {
    const { clock, set } = settableClock()
    const test = await nodeInTest({ ban: { enabled: true, threshold: -100, durationMs: 3_600_000 } }, { clock })
    const raw = await startBanned(test)
    expect(await unbanOf(test, raw.peerId)).toBeUndefined()
    set(3_600_000)
    await until('its end', async () => (await unbanOf(test, raw.peerId))?.reason === 'expired')
    expect((await test.node.peers(false)).timeBans).toEqual([])
    expect(await test.metric('p2p_peer_unbans')).toBe(1)
  })

  it('a ban survives a restart, and lifting it also resets the score that caused it', async () => {
    const kept = await keptInTest()
    const first = await nodeInTest(kept)
    const raw = await startBanned(first)
    expect(await first.node.listBlockedPeers()).toEqual([])
    await first.node.stop()
    const test = await nodeInTest({ ...kept, ban: { enabled: false, threshold: 1, durationMs: 1 } })
    const dialled = test.node.connectPeer(`/ip4/127.0.0.1/tcp/1/p2p/${raw.peerId}`)
    await expect(dialled).rejects.toMatchObject({ code: 'dial-failed', details: { reason: 'blocked-by-us' } })
    await test.node.unblockPeer(raw.peerId)
    expect((await unbanOf(test, raw.peerId))?.reason).toBe('lifted')
    expect(await test.metric('p2p_peer_unbans')).toBe(1)
    expect((await test.node.peerScore(raw.peerId))[0]).toMatchObject({ total: 0, ban: null })
    await raw.connect(test.address)
    await until('its return', () => test.node.connectedPeers().includes(raw.peerId))
    expect((await test.node.peerScore(raw.peerId))[0]?.total).toBeGreaterThanOrEqual(0)
  })
})

describe('blocks', () => {
  it.skipIf(!hasIpv6)('a block of an IPv6 address or subnet closes open connections at once', async () => {
    const test = await nodeInTest({ listenIp: '::1' })
    const raw = await rawPeerInTest([TOPIC])
    const address = test.node.multiaddrs().find((text) => text.startsWith('/ip6/::1/')) ?? ''
    const isDisconnected = () => test.node.connectedPeers().length + raw.host.getConnections().length === 0
    await raw.connect(address)
    await test.node.blockSubnet('::/64')
    await until('the end by subnet', isDisconnected)
    await expect(raw.host.dial(multiaddr(address))).rejects.toThrow()
    await test.node.unblockSubnet('::/64')
    await raw.connect(address)
    await test.node.blockAddr('0:0:0:0:0:0:0:1')
    await until('the end by address', isDisconnected)
    expect((await test.node.peers(true)).bannedIPS).toEqual(['::1'])
  })

  it('refuses a peer that is blocked during its handshake', async () => {
    const test = await nodeInTest()
    const raw = await rawPeerInTest([TOPIC])
    const proxy = await startTcpProxy(tcpPortOf(test.address))
    onTestFinished(() => proxy.close())
    proxy.set({ delayMs: 50 })
    const accepted = () => test.metric('p2p_accepts{allow="true"}')
    for (const block of [() => test.node.blockAddr('127.0.0.1'), () => test.node.blockSubnet('127.0.0.0/8')]) {
      const accepts = await accepted()
      const dial = raw.host.dial(multiaddr(`/ip4/127.0.0.1/tcp/${proxy.port}`)).catch(() => {})
      await until('its connection', async () => (await accepted()) > accepts)
      await block()
      await dial
      await until('its end', () => raw.host.getConnections().length === 0)
      await test.node.unblockAddr('127.0.0.1')
    }
    expect(await test.events(raw.peerId)).toEqual([])
  })

  it('a refused connection records which address or subnet would have to be unblocked', async () => {
    const test = await nodeInTest()
    const raw = await rawPeerInTest([TOPIC])
    await raw.connect(test.address)
    const refusals = async () => (await test.node.peerScore(raw.peerId))[0]?.refusals
    expect(await refusals()).toEqual([])
    await test.node.blockSubnet('127.0.0.0/8')
    await until('its end', () => test.node.connectedPeers().length === 0)
    await test.node.blockPeer(raw.peerId)
    expect(await refusals()).toEqual([
      { subject: raw.peerId, reason: 'it is on the block list' },
      { subject: '127.0.0.0/8', reason: 'its IP 127.0.0.1 is in the blocked subnet 127.0.0.0/8' },
    ])
    await test.node.unblockSubnet('127.0.0.0/8')
    await test.node.blockAddr('127.0.0.1')
    expect((await refusals())?.[1]).toEqual({ subject: '127.0.0.1', reason: 'its IP 127.0.0.1 is blocked' })
  })
})

describe('an allow-list', () => {
  it('accepts and dials no other peer', async () => {
    const [guest, unlisted] = await Promise.all([nodeInTest(), nodeInTest()])
    const test = await nodeInTest({ allow: [guest.node.peerId, '10.0.0.0/8'] })
    await expect(test.node.connectPeer(unlisted.address)).rejects.toThrow(errorWith('dial-failed', '--p2p.allow'))
    await unlisted.node.connectPeer(test.address).catch(() => {})
    await guest.node.connectPeer(test.address)
    await until('the guest', () => test.node.connectedPeers().length > 0)
    expect(test.node.connectedPeers()).toEqual([guest.node.peerId])
    await guest.node.disconnectPeer(test.node.peerId)
    // Until then a dial may return the old connection.
    await until('its end', () => test.node.connectedPeers().length === 0)
    await test.node.connectPeer(guest.address)
    await until('the guest again', () => test.node.connectedPeers().includes(guest.node.peerId))
    const nearby = await nodeInTest({ allow: ['127.0.0.0/8'] })
    await unlisted.node.connectPeer(nearby.address)
    await until('the unlisted peer', () => nearby.node.connectedPeers().includes(unlisted.node.peerId))
  })
})
