/** The peer store keeps this many disconnected unsolicited peers. libp2p alone would keep all of a day. */
export const MAX_STRANGERS = 500

/**
 * Limits the peer-store entries of unsolicited peers: inbound peers that neither the operator named nor discovery
 * found. Otherwise an attacker with many identities could fill the store. A peer without a dialable address, such as
 * `devium p2p check`, is removed at once.
 */
export function createStrangers(
  modules: {
    isStranger(peerId: string): boolean
    /** True: the peer store has an address of this peer. */
    isDialable(peerId: string): Promise<boolean>
    /** Removes the peer from the peer store. */
    forget(peerId: string): Promise<void>
    onError(error: unknown): void
  },
  { most }: { most: number },
) {
  /** Longest disconnected first. */
  const gone = new Set<string>()
  const forgetUndialable = async (peerId: string): Promise<void> => {
    const isDialable = await modules.isDialable(peerId)
    // The peer may have reconnected.
    if (!isDialable && gone.delete(peerId)) await modules.forget(peerId)
  }
  return {
    /** Must be called on every connection. `onGone` likewise on every disconnection. */
    onConnected: (peerId: string): boolean => gone.delete(peerId),
    onGone(peerId: string): void {
      if (!modules.isStranger(peerId)) return
      gone.delete(peerId)
      gone.add(peerId)
      forgetUndialable(peerId).catch(modules.onError)
      for (const oldest of gone) {
        if (gone.size <= most) return
        gone.delete(oldest)
        modules.forget(oldest).catch(modules.onError)
      }
    },
  }
}
