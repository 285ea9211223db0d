import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../lib/clock.ts'
import { type Logger, silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until } from '../../lib/testUtils/until.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import {
  DEFAULT_DISCOVERY_OPTIONS,
  DEFAULT_P2P_OPTIONS,
  type DiscoveryOptions,
  type P2pOptions,
} from '../base/options.ts'
import { settableClock } from '../testUtils/clocks.ts'
import { enodeOf } from '../testUtils/discovery.ts'
import { folderInTest, nodeInTest } from '../testUtils/inTest.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { peerRecord } from '../testUtils/signedRecord.ts'
import { testChain, testConfig } from '../testUtils/testChain.ts'
import type { TestNode } from '../testUtils/testNode.ts'
import { parseRecord } from './discv5.ts'
import { MAX_FOUND_PEERS } from './hostDiscovery.ts'

async function start(
  discovery: Partial<DiscoveryOptions>,
  modules: { config?: Partial<RollupConfig>; logger?: Logger; clock?: Clock; options?: Partial<P2pOptions> } = {},
): Promise<TestNode> {
  const { config = {}, logger = silentLogger, clock = systemClock } = modules
  return nodeInTest(
    { ...modules.options, discovery: { ...DEFAULT_DISCOVERY_OPTIONS, path: 'memory', ...discovery } },
    { chain: testChain(testConfig('holocene', config)), logger, clock },
  )
}

const enrOf = async ({ node }: TestNode): Promise<string> => (await node.self()).ENR
const isConnected = (a: TestNode, b: TestNode): boolean => a.node.connectedPeers().includes(b.node.peerId)

async function enodeAt(from: TestNode, host: string): Promise<string> {
  const { publicKey, udpPort } = parseRecord(await enrOf(from))
  return enodeOf(publicKey, `${host}:0?discport=${udpPort}`)
}

describe('a flood of records', () => {
  it('many records of one node leave only the address of the latest record', async () => {
    const privateKey = new Uint8Array(randomBytes(32))
    const bootnodes = Array.from({ length: 10 }, (_, n) =>
      peerRecord({ tcp: Uint8Array.of(1 + n) }, privateKey, BigInt(n + 1)),
    )
    const { node } = await start({ bootnodes })
    const last = async () => Object.values((await node.peers(false)).peers).find(({ ENR }) => ENR === bootnodes.at(-1))
    await until('the last', async () => (await last()) !== undefined)
    expect((await last())?.addresses).toEqual([expect.stringContaining('/ip4/127.0.0.1/tcp/10/')])
  })

  it('the peer store keeps only the latest records, up to its limit', async () => {
    const bootnodes = Array.from({ length: MAX_FOUND_PEERS + 20 }, () => peerRecord())
    const { node } = await start({ bootnodes })
    const known = async () => Object.values((await node.peers(false)).peers).map(({ ENR }) => ENR)
    await until('the last', async () => (await known()).includes(bootnodes.at(-1) ?? ''))
    const kept = new Set(await known())
    expect(kept.size).toBeLessThanOrEqual(MAX_FOUND_PEERS + 1)
    expect(bootnodes.slice(0, 19).filter((record) => kept.has(record))).toEqual([])
  })
})

describe('discovery', () => {
  it('keeps the address of a node as long as the node is reported', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const hourMs = 3_600_000
    const clock = new ManualClock(Date.now())
    const bootnode = peerRecord()
    // Other timers must be rare. One peer is enough, so that nothing is dialled.
    const liveness = { silentMs: 100 * hourMs, answerMs: 100 * hourMs, closeMs: 100 * hourMs }
    const ban = { ...DEFAULT_P2P_OPTIONS.ban, enabled: false }
    const { address } = await nodeInTest()
    const rarely = { peersLow: 1, ping: false, ban, liveness, health: { intervalMs: hourMs } }
    const { node } = await start(
      { bootnodes: [bootnode] },
      { clock, config: { blockTime: 600 }, options: { ...rarely, staticPeers: [address] } },
    )
    const known = async () => Object.values((await node.peers(false)).peers).find(({ ENR }) => ENR === bootnode)
    await until('the bootnode', async () => (await known()) !== undefined)
    for (let hour = 0; hour < 36; hour++) {
      vi.setSystemTime(Date.now() + hourMs)
      await clock.advance(hourMs)
      expect((await known())?.addresses).toEqual([expect.stringContaining('/ip4/127.0.0.1/tcp/9/')])
    }
  })

  it('connects two nodes through a bootnode, one given as ENR, one as enode with a name', async () => {
    const boot = await start({ bootnodes: [] })
    const a = await start({ bootnodes: [await enrOf(boot)] })
    const b = await start({ bootnodes: [await enodeAt(boot, 'localhost')] })
    await until('a and b connected', () => isConnected(a, b) && isConnected(b, a))

    const record = async () => (await a.node.peers(true)).peers[b.node.peerId]
    await until('the record', async () => (await record())?.ENR === (await enrOf(b)))
    expect(await record()).toMatchObject({ chainID: 901, connectedness: 1 })
    expect(await a.node.discoveryTable()).toContain(await enrOf(boot))
    expect((await a.node.peerStats()).table).toBe((await a.node.discoveryTable()).length)
    const self = parseRecord(await enrOf(a))
    expect(self).toMatchObject({ ip: '127.0.0.1', opstack: { chainId: 901n, version: 0n } })
    const metrics = await a.registry.metrics()
    expect(metrics).toMatch(/p2p_discovery_table_nodes [1-9]/)
    expect(metrics).toMatch(/p2p_discovery_sessions [1-9]/)
    expect(metrics).toMatch(/p2p_discovery_lookups_total [1-9]/)
    expect(metrics).toMatch(/p2p_discovery_records_total\{outcome="found"\} [1-9]/)
    expect(a.address).toContain(`/tcp/${self.tcpPort}/`)
    expect((await a.node.self()).nodeID).toBe(self.nodeId)
  })

  it('learns its address from the bootnode when it listens on all interfaces and advertises none', async () => {
    const anywhere = { options: { listenIp: '0.0.0.0' } }
    const boot = await start({ bootnodes: [] }, anywhere)
    expect(parseRecord(await enrOf(boot)).ip).toBeUndefined()
    const bootnodes = [await enodeAt(boot, '127.0.0.1')]
    const a = await start({ bootnodes }, anywhere)
    const b = await start({ bootnodes }, anywhere)
    await until('all connected', () => isConnected(a, b) && isConnected(a, boot) && isConnected(b, boot))
    for (const node of [a, b, boot]) {
      await until('its address', async () => parseRecord(await enrOf(node)).ip === '127.0.0.1')
    }
  })

  it('ignores nodes of another chain that it finds', async () => {
    const boot = await start({ bootnodes: [] }, { config: { l2ChainId: 10n } })
    const bootnodes = [await enrOf(boot)]
    const a = await start({ bootnodes })
    const b = await start({ bootnodes })
    await until('a and b connected', () => isConnected(a, b))
    await until('a has both in its table', async () => (await a.node.discoveryTable()).length === 2)
    expect(a.node.connectedPeers()).toEqual([b.node.peerId])
    expect(await a.registry.metrics()).toContain('p2p_discovery_records_total{outcome="other-chain"} 1')
    expect(boot.node.connectedPeers()).toEqual([])
    expect(Object.keys((await a.node.peers(false)).peers).sort()).toEqual([a.node.peerId, b.node.peerId].sort())
  })

  it('finds the peers of the last run again without bootnodes', async () => {
    const folder = await folderInTest()
    const boot = await start({ bootnodes: [] })
    const b = await start({ bootnodes: [await enrOf(boot)] })
    const first = await start({ bootnodes: [await enrOf(boot)], path: folder })
    const known = async () => (await first.node.peers(true)).peers[b.node.peerId]?.ENR
    await until('first run connected, and told of the record', async () => (await known()) === (await enrOf(b)))
    await first.node.stop()
    await boot.node.stop()

    const second = await start({ bootnodes: [], path: folder })
    await until('second run connected', () => isConnected(second, b))
    expect(await readFile(join(folder, 'nodes.json'), 'utf8')).toContain(await enrOf(b))
  })

  it('raises the sequence of its record at each start, also after the clock was set back, and does not list itself', async () => {
    const path = await folderInTest()
    const options = { privateKey: new Uint8Array(randomBytes(32)) }
    const ahead = settableClock()
    ahead.set(600_000)
    const first = await start({ bootnodes: [], path }, { options, clock: ahead.clock })
    const before = parseRecord(await enrOf(first))
    await first.node.stop()
    const second = await start({ bootnodes: [], path }, { options })
    const after = parseRecord(await enrOf(second))
    expect(after.sequence).toBeGreaterThan(before.sequence)
    expect(await second.node.discoveryTable()).toEqual([])
    await second.node.stop()
    const third = await start({ bootnodes: [], path }, { options })
    expect(parseRecord(await enrOf(third)).sequence).toBeGreaterThan(after.sequence)
  })

  it('starts with a damaged store, and moves the store aside', async () => {
    const folder = await folderInTest()
    await writeFile(join(folder, 'nodes.json'), '{"version":1,"rec')
    const { logger, lines } = recordedLog()
    await start({ bootnodes: [], path: folder }, { logger })
    expect(lines.filter((line) => line.includes('Discovery store is damaged'))).toHaveLength(1)
  })

  it('refuses an invalid bootnode record, and a UDP port in use', async () => {
    await expect(start({ bootnodes: ['enr:-abc'] })).rejects.toThrow(errorWith('usage', '--p2p.bootnodes', 'record 1'))
    const boot = await start({ bootnodes: [] })
    const { udpPort } = parseRecord(await enrOf(boot))
    const second = start({ bootnodes: [], listenUdpPort: udpPort ?? 0 })
    await expect(second).rejects.toThrow(errorWith('usage', '--p2p.listen.udp'))
  })

  it('contacts no node outside the --p2p.netrestrict ranges', async () => {
    const boot = await start({ bootnodes: [] })
    const a = await start({ bootnodes: [await enrOf(boot)], netrestrict: ['10.0.0.0/8'] })
    const b = await start({ bootnodes: [await enrOf(boot)] })
    await until('b connected', () => isConnected(b, boot))
    expect(await a.node.discoveryTable()).toEqual([])
    expect(a.node.connectedPeers()).toEqual([])
  })

  it('has no bootnodes for an L1 that is not a public network', async () => {
    const { logger, lines } = recordedLog()
    await start({ bootnodes: undefined }, { logger })
    expect(lines.find((line) => line.includes('Started discovery service'))).toContain(' bootnodes=0')
  })

  it.each([
    ['localhost', '/ip4/127.0.0.1/tcp/4001', '127.0.0.1'],
    ['192.0.2.1', '/ip4/192.0.2.1/tcp/4001', '192.0.2.1'],
    ['2001:db8::7', '/ip6/2001:db8::7/tcp/4001', '2001:db8::7'],
  ])('announces %s with its ports', async (advertiseIp, address, ip) => {
    const options = { advertiseIp, advertiseTcpPort: 4001 }
    const { node } = await start({ bootnodes: [], advertiseUdpPort: 4002 }, { options })
    expect(node.multiaddrs()).toEqual([`${address}/p2p/${node.peerId}`])
    expect(parseRecord((await node.self()).ENR)).toMatchObject({ ip, tcpPort: 4001, udpPort: 4002 })
  })

  it.each(['127.0.0.1', '::'])(
    'announces an address with the port that the system chose, listening on %s',
    async (listenIp) => {
      const { node } = await start({ bootnodes: [] }, { options: { listenIp, advertiseIp: '192.0.2.1' } })
      const { tcpPort } = parseRecord((await node.self()).ENR)
      expect(tcpPort).toBeGreaterThan(0)
      expect(node.multiaddrs()).toEqual([`/ip4/192.0.2.1/tcp/${tcpPort}/p2p/${node.peerId}`])
      const other = await nodeInTest()
      await node.connectPeer(other.address)
      await until('told by identify', async () => {
        const addresses = (await other.node.peers(true)).peers[node.peerId]?.addresses
        return addresses?.includes(`/ip4/192.0.2.1/tcp/${tcpPort}/p2p/${node.peerId}`) === true
      })
    },
  )

  it('listens on IPv4 and IPv6 with ::, and is dialled over either', async () => {
    const a = await start({ bootnodes: [] }, { options: { listenIp: '::' } })
    const ports = Object.fromEntries(
      a.node.multiaddrs().map((text) => /^\/(ip[46])\/.*\/tcp\/(\d+)\//.exec(text)?.slice(1) ?? []),
    )
    for (const at of [`/ip4/127.0.0.1/tcp/${ports.ip4}`, ...('ip6' in ports ? [`/ip6/::1/tcp/${ports.ip6}`] : [])]) {
      const dialler = await start({ bootnodes: [] }, { options: { staticPeers: [`${at}/p2p/${a.node.peerId}`] } })
      await until(`connected by ${at}`, () => isConnected(dialler, a))
    }
  })
})
