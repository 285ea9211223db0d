import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { startNatPmpRouter, startUpnpRouter, type TestRouter } from '../testUtils/testRouter.ts'
import { defaultRouters } from './defaultRoute.ts'
import { createNatRouterSearch, type SearchPlaces } from './findNatRouter.ts'
import { createNatPmpRouter } from './natPmp.ts'

async function run(started: Promise<TestRouter>): Promise<TestRouter> {
  const router = await started
  onTestFinished(router.close)
  return router
}

const soon = (timeoutMs = 60_000): AbortSignal => AbortSignal.timeout(timeoutMs)
const find = (places: SearchPlaces, timeoutMs?: number) => createNatRouterSearch(places)(soon(timeoutMs))
const tcp = { protocol: 'tcp', internalPort: 9222, externalPort: 9222, lifetimeS: 1200 } as const
const udp = { protocol: 'udp', internalPort: 9300, externalPort: 9301, lifetimeS: 1200 } as const

describe.each([
  ['NAT-PMP', () => startNatPmpRouter()],
  ['UPnP, WANIPConnection:1', () => startUpnpRouter()],
  ['UPnP, WANIPConnection:2', () => startUpnpRouter({ service: 'WANIPConnection:2' })],
  ['UPnP, WANPPPConnection:1', () => startUpnpRouter({ service: 'WANPPPConnection:1' })],
])('a router that speaks %s', (name, startRouter) => {
  it('is found, returns its address, maps and unmaps ports', async () => {
    const router = await run(startRouter())
    const found = await find(router.places)
    expect(found.name).toBe(`${name.split(',')[0]} 127.0.0.1`)
    expect(await found.externalIp(soon())).toBe('203.0.113.7')
    expect(await found.map(tcp, soon())).toEqual({ externalPort: 9222, lifetimeS: 1200 })
    expect(await found.map(udp, soon())).toEqual({ externalPort: 9301, lifetimeS: 1200 })
    expect([...router.mappings]).toEqual([
      ['tcp 9222 -> 9222', 1200],
      ['udp 9301 -> 9300', 1200],
    ])
    await found.unmap(udp, soon())
    expect([...router.mappings.keys()]).toEqual(['tcp 9222 -> 9222'])
  })

  it('reports the reason of a refusal, and that an answer is missing', async () => {
    const router = await run(startRouter())
    const found = await find(router.places)
    router.refusals.push(2)
    await expect(found.map(tcp, soon())).rejects.toMatchObject({ name: 'NatRouterError', code: 'refused' })
    router.isDead = true
    await expect(found.map(tcp, soon(100))).rejects.toMatchObject({ name: 'NatRouterError', code: 'no-answer' })
  })
})

describe('UPnP', () => {
  it('maps another port if the port is in use, and a permanent mapping if the router supports no other', async () => {
    const router = await run(startUpnpRouter())
    const found = await find(router.places)
    router.refusals.push(718, 725)
    const { externalPort, lifetimeS } = await found.map(tcp, soon())
    expect(externalPort).not.toBe(9222)
    expect(lifetimeS).toBe(0)
    expect([...router.mappings]).toEqual([[`tcp ${externalPort} -> 9222`, 0]])
    router.refusals.push(718, 718, 718, 718)
    await expect(found.map(tcp, soon())).rejects.toMatchObject({ code: 'refused', details: { code: 718 } })
  })

  it('sends requests only to the host that answered, and only if it maps ports', async () => {
    const redirecting = await run(startUpnpRouter({ location: (port) => `http://localhost:${port}/rootDesc.xml` }))
    await expect(find(redirecting.places, 300)).rejects.toThrow(errorWith('no-answer'))
    expect(redirecting.requests).toBe(0)
    const printer = await run(startUpnpRouter({ service: 'Printing:1' }))
    await expect(find(printer.places)).rejects.toThrow(errorWith('no-answer', 'UPnP', '127.0.0.1'))
  })
})

describe('NAT-PMP', () => {
  it('repeats a request when a packet is lost', async () => {
    const router = await run(startNatPmpRouter({ drop: 1 }))
    const found = await find(router.places)
    expect(await found.externalIp(soon())).toBe('203.0.113.7')
    // More if an answer is late.
    expect(router.requests).toBeGreaterThanOrEqual(3)
  })

  it('ignores garbage and answers of other hosts', async () => {
    const socket = createSocket('udp4')
    onTestFinished(() => new Promise((resolve) => socket.close(() => resolve())))
    const cutShort = ['', '00', '0080', '008000000000']
    const strange = [`0180${'00'.repeat(10)}`, `0081${'00'.repeat(14)}`, 'ff'.repeat(99)]
    socket.on('message', (_, from) => {
      for (const hex of [...cutShort, ...strange, '00800000000000007f0000ff']) {
        socket.send(Buffer.from(hex, 'hex'), from.port, from.address)
      }
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const found = createNatPmpRouter({ ip: '127.0.0.1', port: socket.address().port })
    expect(await found.externalIp(soon())).toBe('127.0.0.255')
  })
})

it('the search fails at once if no router listens', async () => {
  const router = await startNatPmpRouter()
  await router.close()
  await expect(find(router.places)).rejects.toThrow(errorWith('no-answer', 'NAT-PMP', '127.0.0.1', 'UPnP'))
})

it('defaultRouters reads the routes of the kernel', () => {
  const table = [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    'eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
    'tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0',
    '',
  ].join('\n')
  expect(defaultRouters(table)).toEqual(['192.168.1.1'])
  expect(defaultRouters('')).toEqual([])
})
