import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { tcpMultiaddr } from './multiaddrs.ts'

/** What peers are told of where this host is, on top of what libp2p finds out itself. */
export interface AnnouncedAddresses {
  /** Another address that leads here, in place of the one set before; undefined: none. */
  setExternal(address: { ip: string; port: number } | undefined): void
  /** The TCP port that is listened on; undefined: none of this family. */
  listeningPort(family: 'ip4' | 'ip6'): number | undefined
}

/** Of libp2p's components. */
export interface AddressComponents {
  addressManager: {
    confirmObservedAddr(address: Multiaddr, options: { type: 'observed' }): void
    removeObservedAddr(address: Multiaddr): void
    removePublicAddressMapping(internalIp: string, internalPort: number, externalIp: string, externalPort: number): void
  }
  transportManager: { getAddrs(): Multiaddr[] }
}

/** A service of the host, since only those see libp2p's components. */
export function announcedAddresses(components: AddressComponents): AnnouncedAddresses {
  const { addressManager, transportManager } = components
  let current: { ip: string; port: number } | undefined
  return {
    setExternal(address) {
      if (current !== undefined) {
        addressManager.removeObservedAddr(multiaddr(tcpMultiaddr(current.ip, current.port)))
        // libp2p turns an address into a mapping where it knows the interface behind it.
        addressManager.removePublicAddressMapping('', 0, current.ip, current.port)
      }
      current = address
      if (address === undefined) return
      addressManager.confirmObservedAddr(multiaddr(tcpMultiaddr(address.ip, address.port)), { type: 'observed' })
    },
    listeningPort(family) {
      for (const address of transportManager.getAddrs()) {
        const components = address.getComponents()
        const port = components.find(({ name }) => name === 'tcp')?.value
        if (port !== undefined && components[0]?.name === family) return Number(port)
      }
      return undefined
    },
  }
}
