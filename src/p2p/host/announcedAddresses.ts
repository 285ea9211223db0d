import type { PeerId } from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { tcpMultiaddr, withPeerId } from './multiaddrs.ts'

/** Of libp2p's components. */
export interface AddressComponents {
  addressManager: {
    confirmObservedAddr(address: Multiaddr, options: { type: 'observed' }): void
    removeObservedAddr(address: Multiaddr): void
    removePublicAddressMapping(internalIp: string, internalPort: number, externalIp: string, externalPort: number): void
  }
  transportManager: { getAddrs(): Multiaddr[] }
  peerId: PeerId
}

/** What peers are told of where this host is, on top of what libp2p finds out itself. */
export type AnnouncedAddresses = ReturnType<typeof announcedAddresses>

/** A service of the host, since only those see libp2p's components. */
export function announcedAddresses(components: AddressComponents) {
  const { addressManager, transportManager, peerId } = components
  let current: { ip: string; port: number } | undefined
  return {
    /** Another address that leads here, in place of the one set before; undefined: none. */
    setExternal(address: { ip: string; port: number } | undefined): void {
      if (current !== undefined) {
        addressManager.removeObservedAddr(multiaddr(tcpMultiaddr(current.ip, current.port)))
        // libp2p turns an address into a mapping where it knows the interface behind it.
        addressManager.removePublicAddressMapping('', 0, current.ip, current.port)
      }
      current = address
      if (address === undefined) return
      addressManager.confirmObservedAddr(multiaddr(tcpMultiaddr(address.ip, address.port)), { type: 'observed' })
    },
    /**
     * The addresses, and those of all interfaces that are listened on, as go-libp2p announces them. libp2p leaves public ones
     * out until another node has found that they can be reached.
     */
    withListening(addresses: readonly Multiaddr[]): Multiaddr[] {
      const known = addresses.map((address) => withPeerId(address, peerId))
      const listening = transportManager.getAddrs().map((address) => withPeerId(address, peerId))
      return [...new Set([...known, ...listening])].map((address) => multiaddr(address))
    },
    /** The TCP port that is listened on; undefined: none of this family. */
    listeningPort(family: 'ip4' | 'ip6'): number | undefined {
      for (const address of transportManager.getAddrs()) {
        const components = address.getComponents()
        const port = components.find(({ name }) => name === 'tcp')?.value
        if (port !== undefined && components[0]?.name === family) return Number(port)
      }
      return undefined
    },
  }
}
