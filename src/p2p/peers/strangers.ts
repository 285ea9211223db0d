/** Of peers that came and went, so many are remembered; libp2p's peer store would keep all of a day. */
export const MAX_STRANGERS = 500

/**
 * Bounds what the peer store keeps of peers that came by themselves: whoever makes new identities could fill it. One that
 * leaves no address to dial it at, as `devium p2p check`, is forgotten at once: there is nothing to come back to. Those
 * that the operator named, and those that discovery found, are no strangers.
 */
export function createStrangers(
  modules: {
    isStranger(peerId: string): boolean
    /** Whether the peer store has an address of it. */
    isDialable(peerId: string): Promise<boolean>
    /** Forgets all that the peer store has of it. */
    forget(peerId: string): Promise<void>
    onError(error: unknown): void
  },
  { most }: { most: number },
) {
  /** Longest gone first. */
  const gone = new Set<string>()
  const forgetUndialable = async (peerId: string): Promise<void> => {
    const isDialable = await modules.isDialable(peerId)
    // It may be back.
    if (!isDialable && gone.delete(peerId)) await modules.forget(peerId)
  }
  return {
    /** Tell it of every peer that is connected, and of every one that has gone. */
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
