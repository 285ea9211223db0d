import { noise } from '@chainsafe/libp2p-noise'
import { tcp } from '@libp2p/tcp'
import { createLibp2p } from 'libp2p'
import { describe, expect, it, onTestFinished } from 'vitest'
import { announcedAddresses } from './announcedAddresses.ts'
import { silentComponentLogger } from './libp2pLogger.ts'

async function host(listen: string[]) {
  const node = await createLibp2p({
    logger: silentComponentLogger,
    addresses: { listen },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    services: { addresses: announcedAddresses },
  })
  onTestFinished(async () => node.stop())
  const addresses = (): string[] => node.getMultiaddrs().map((address) => address.toString().replace(/\/p2p\/.*/, ''))
  return { addresses, announced: node.services.addresses }
}

// On an interface libp2p keeps an outer address in another way than on loopback.
describe.each(['/ip4/127.0.0.1/tcp/0', '/ip4/0.0.0.0/tcp/0'])('announced addresses of a host on %s', (listen) => {
  it('add the outer one, replace it and take it back', async () => {
    const { addresses, announced } = await host([listen])
    const own = addresses()
    announced.setExternal({ ip: '203.0.113.7', port: 4001 })
    expect(addresses().sort()).toEqual([...own, '/ip4/203.0.113.7/tcp/4001'].sort())
    announced.setExternal({ ip: '203.0.113.7', port: 4002 })
    expect(addresses().sort()).toEqual([...own, '/ip4/203.0.113.7/tcp/4002'].sort())
    announced.setExternal({ ip: '203.0.113.8', port: 4002 })
    expect(addresses().sort()).toEqual([...own, '/ip4/203.0.113.8/tcp/4002'].sort())
    announced.setExternal(undefined)
    expect(addresses().sort()).toEqual(own.sort())
  })

  it('know the port that is listened on', async () => {
    const { addresses, announced } = await host([listen])
    expect(addresses()[0]).toContain(`/tcp/${announced.listeningPort('ip4')}`)
    expect(announced.listeningPort('ip6')).toBeUndefined()
  })
})
