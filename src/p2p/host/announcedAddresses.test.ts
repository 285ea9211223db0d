import type { Transport } from '@libp2p/interface'
import { tcp } from '@libp2p/tcp'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startBareHost } from '../hostile/bareHost.ts'
import { announcedAddresses } from './announcedAddresses.ts'

/** As on a machine with another interface. */
function withAddress(transport: Transport, address: string | undefined): Transport {
  const createListener = transport.createListener.bind(transport)
  transport.createListener = (options) => {
    const listener = createListener(options)
    const getAddrs = listener.getAddrs.bind(listener)
    listener.getAddrs = () => [...getAddrs(), ...(address === undefined ? [] : [multiaddr(address)])]
    return listener
  }
  return transport
}

async function host(listen: string[], interfaceAddress?: string) {
  const node = await startBareHost({
    addresses: { listen, announceFilter: (known): Multiaddr[] => node.services.addresses.withListening(known) },
    transports: [(components) => withAddress(tcp()(components), interfaceAddress)],
    services: { addresses: announcedAddresses },
  })
  onTestFinished(async () => node.stop())
  const addresses = (): string[] => node.getMultiaddrs().map((address) => address.toString().replace(/\/p2p\/.*/, ''))
  return { addresses, announced: node.services.addresses }
}

it('a host announces the public addresses of its interfaces without a reachability check', async () => {
  const { addresses } = await host(['/ip4/127.0.0.1/tcp/0'], '/ip4/45.33.1.2/tcp/4700')
  expect(addresses()).toEqual([expect.stringContaining('/ip4/127.0.0.1/tcp/'), '/ip4/45.33.1.2/tcp/4700'])
})

// libp2p stores an external address differently for a real interface than for loopback.
describe.each(['/ip4/127.0.0.1/tcp/0', '/ip4/0.0.0.0/tcp/0'])('announced addresses of a host on %s', (listen) => {
  it('announces the listening port, then adds, replaces and removes the mapped address', async () => {
    const { addresses, announced } = await host([listen])
    const own = addresses()
    expect(own[0]).toContain(`/tcp/${announced.listeningPort('ip4')}`)
    expect(announced.listeningPort('ip6')).toBeUndefined()
    announced.setExternal({ ip: '203.0.113.7', port: 4001 })
    expect(addresses().sort()).toEqual([...own, '/ip4/203.0.113.7/tcp/4001'].sort())
    announced.setExternal({ ip: '203.0.113.7', port: 4002 })
    expect(addresses().sort()).toEqual([...own, '/ip4/203.0.113.7/tcp/4002'].sort())
    announced.setExternal({ ip: '203.0.113.8', port: 4002 })
    expect(addresses().sort()).toEqual([...own, '/ip4/203.0.113.8/tcp/4002'].sort())
    announced.setExternal(undefined)
    expect(addresses().sort()).toEqual(own.sort())
  })
})
