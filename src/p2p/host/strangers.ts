export interface Strangers {
  /** Tell it of every peer that is connected, and of every one that has gone. */
  onConnected(peerId: string): void
  onGone(peerId: string): void
}

/** Of peers that came and went, so many are remembered; libp2p's peer store would keep all of a day. */
export const MAX_STRANGERS = 500

/**
 * Bounds what the peer store keeps of peers that came by themselves: whoever makes new identities could fill it. Those
 * that the operator named, and those that discovery found, are no strangers.
 */
export function createStrangers(
  modules: {
    isStranger(peerId: string): boolean
    /** Forgets all that the peer store has of it. */
    forget(peerId: string): Promise<void>
    onError(error: unknown): void
  },
  { most }: { most: number },
): Strangers {
  /** Longest gone first. */
  const gone = new Set<string>()
  return {
    onConnected: (peerId) => gone.delete(peerId),
    onGone(peerId) {
      if (!modules.isStranger(peerId)) return
      gone.delete(peerId)
      gone.add(peerId)
      for (const oldest of gone) {
        if (gone.size <= most) return
        gone.delete(oldest)
        modules.forget(oldest).catch(modules.onError)
      }
    },
  }
}
