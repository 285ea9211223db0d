/** The peer store keeps this many disconnected unsolicited peers. libp2p alone would keep all of a day. */
export const MAX_UNSOLICITED = 500

/**
 * Limits the peer-store entries of unsolicited peers: inbound peers that neither the operator named nor discovery
 * found. Otherwise an attacker with many identities could fill the store. A peer without a dialable address, such as
 * `devium p2p check`, is removed at once.
 */
export function createUnsolicitedPeers(
  modules: {
    isUnsolicited(peerId: string): boolean
    /** True: the peer store has an address of this peer. */
    isDialable(peerId: string): Promise<boolean>
    remove(peerId: string): Promise<void>
    onError(error: unknown): void
  },
  { limit }: { limit: number },
) {
  /** Longest disconnected first. */
  const disconnected = new Set<string>()
  const removeUndialable = async (peerId: string): Promise<void> => {
    const isDialable = await modules.isDialable(peerId)
    // The peer may have reconnected.
    if (!isDialable && disconnected.delete(peerId)) await modules.remove(peerId)
  }
  return {
    /** Must be called on every connection. `onDisconnected` likewise on every disconnection. */
    onConnected: (peerId: string): boolean => disconnected.delete(peerId),
    onDisconnected(peerId: string): void {
      if (!modules.isUnsolicited(peerId)) return
      disconnected.delete(peerId)
      disconnected.add(peerId)
      removeUndialable(peerId).catch(modules.onError)
      for (const oldest of disconnected) {
        if (disconnected.size <= limit) return
        disconnected.delete(oldest)
        modules.remove(oldest).catch(modules.onError)
      }
    },
  }
}
