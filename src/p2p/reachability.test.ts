import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../lib/testUtils/until.ts'
import { DEFAULT_DISCOVERY_OPTIONS, type P2pOptions } from './base/options.ts'
import { parseRecord } from './discovery/discv5.ts'
import { createNatRouterSearch } from './nat/findNatRouter.ts'
import { nodeInTest } from './testUtils/inTest.ts'
import type { TestNode } from './testUtils/testNode.ts'
import { startNatPmpRouter, startUpnpRouter, type TestRouter } from './testUtils/testRouter.ts'

async function startBehind(router: TestRouter, options: Partial<P2pOptions> = {}): Promise<TestNode> {
  const started = await nodeInTest(
    {
      nat: true,
      discovery: { ...DEFAULT_DISCOVERY_OPTIONS, bootnodes: [], path: 'memory' },
      ...options,
    },
    { findNatRouter: createNatRouterSearch(router.places) },
  )
  return started
}

describe.each([
  ['speaks NAT-PMP', 0, () => startNatPmpRouter()],
  ['speaks UPnP', 0, () => startUpnpRouter()],
  ['maps other ports', 1000, () => startNatPmpRouter({ shift: 1000 })],
])('a node behind a router that %s', (_name, shift, startRouter) => {
  it('has its ports mapped, announces the external address, and unmaps at its stop', async () => {
    const router = await startRouter()
    onTestFinished(router.close)
    const { node, address } = await startBehind(router)
    const tcp = Number(/tcp\/(\d+)/.exec(address)?.[1])
    const outside = `/ip4/203.0.113.7/tcp/${tcp + shift}/p2p/${node.peerId}`
    await until('the outer address', () => node.multiaddrs().includes(outside))
    expect(node.multiaddrs()).toContain(address)
    await until('the record', async () => parseRecord((await node.self()).ENR).ip === '203.0.113.7')
    const { udpPort = 0, tcpPort } = parseRecord((await node.self()).ENR)
    expect(tcpPort).toBe(tcp + shift)
    expect([...router.mappings.keys()]).toEqual([
      `tcp ${tcp + shift} -> ${tcp}`,
      `udp ${udpPort} -> ${udpPort - shift}`,
    ])

    // Peers receive the address by identify.
    const peer = await nodeInTest({ staticPeers: [address] })
    await until('identify', async () =>
      ((await peer.node.peers(true)).peers[node.peerId]?.addresses ?? []).includes(outside),
    )
    await node.stop()
    expect(router.mappings.size).toBe(0)
  })
})

it('a node with a configured address has its ports mapped, and announces only the configured address', async () => {
  const router = await startNatPmpRouter()
  onTestFinished(router.close)
  const advertised = { advertiseIp: '198.51.100.1', advertiseTcpPort: 4001 }
  const { node } = await startBehind(router, advertised)
  await until('the mappings', () => router.mappings.size === 2)
  expect(node.multiaddrs()).toEqual([`/ip4/198.51.100.1/tcp/4001/p2p/${node.peerId}`])
  expect(parseRecord((await node.self()).ENR)).toMatchObject({ ip: '198.51.100.1', tcpPort: 4001 })
  expect([...router.mappings.keys()]).not.toContain('tcp 4001 -> 4001')
})
