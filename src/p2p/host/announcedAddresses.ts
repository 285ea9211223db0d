import type { PeerId } from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { tcpMultiaddr, withPeerId } from './multiaddrs.ts'

/** The members of libp2p's components that this module uses. */
export interface AddressComponents {
  addressManager: {
    confirmObservedAddr(address: Multiaddr, options: { type: 'observed' }): void
    removeObservedAddr(address: Multiaddr): void
    removePublicAddressMapping(internalIp: string, internalPort: number, externalIp: string, externalPort: number): void
  }
  transportManager: { getAddrs(): Multiaddr[] }
  peerId: PeerId
}

/** Addresses that peers receive, in addition to those that libp2p finds itself. */
export type AnnouncedAddresses = ReturnType<typeof announcedAddresses>

/** A service of the host, because only services can access libp2p's components. */
export function announcedAddresses(components: AddressComponents) {
  const { addressManager, transportManager, peerId } = components
  let current: { ip: string; port: number } | undefined
  return {
    /** Sets an additional address of this host, replacing the one before; undefined: none. */
    setExternal(address: { ip: string; port: number } | undefined): void {
      if (current !== undefined) {
        addressManager.removeObservedAddr(multiaddr(tcpMultiaddr(current.ip, current.port)))
        // libp2p converts an address to a mapping if it knows the interface behind it.
        addressManager.removePublicAddressMapping('', 0, current.ip, current.port)
      }
      current = address
      if (address === undefined) return
      addressManager.confirmObservedAddr(multiaddr(tcpMultiaddr(address.ip, address.port)), { type: 'observed' })
    },
    /**
     * Adds the addresses of all listening interfaces, as go-libp2p does. libp2p omits public ones until another node
     * has reached them.
     */
    withListening(addresses: readonly Multiaddr[]): Multiaddr[] {
      const known = addresses.map((address) => withPeerId(address, peerId))
      const listening = transportManager.getAddrs().map((address) => withPeerId(address, peerId))
      return [...new Set([...known, ...listening])].map((address) => multiaddr(address))
    },
    /** The listening TCP port of this family; undefined: none. */
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
