interface Share {
  active: number
  waiting: (() => void)[]
}

/** The work of one peer waits for its own, not for that of others. */
export function createPerPeerLimiter(options: { atOnce: number; maxWaiting: number }) {
  const shares = new Map<string, Share>()

  const start = async (peerId: string, share: Share, work: () => Promise<void>): Promise<void> => {
    share.active += 1
    try {
      await work()
    } finally {
      share.active -= 1
      const next = share.waiting.shift()
      if (next !== undefined) next()
      else if (share.active === 0) shares.delete(peerId)
    }
  }
  return {
    /** Resolves with the work, which begins at once when the peer has little under way. Undefined: too much waits. */
    run(peerId: string, work: () => Promise<void>): Promise<void> | undefined {
      let share = shares.get(peerId)
      if (share === undefined) {
        share = { active: 0, waiting: [] }
        shares.set(peerId, share)
      }
      const { active, waiting } = share
      if (active < options.atOnce) return start(peerId, share, work)
      if (waiting.length >= options.maxWaiting) return undefined
      return new Promise((resolve, reject) => {
        const own = share
        waiting.push(() => start(peerId, own, work).then(resolve, reject))
      })
    },
    /** Pieces of work of this peer, begun and not ended. */
    active: (peerId: string): number => shares.get(peerId)?.active ?? 0,
  }
}
