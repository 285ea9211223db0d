import { createSemaphore, type Semaphore } from '../../lib/semaphore.ts'

/** The work of one peer waits for its own, not for that of others. */
export function createPerPeerLimiter(options: { atOnce: number; maxWaiting: number }) {
  const shares = new Map<string, Semaphore>()
  return {
    /** Resolves with the work, which begins at once when the peer has little under way. Undefined: too much waits. */
    run(peerId: string, work: () => Promise<void>): Promise<void> | undefined {
      const share = shares.get(peerId) ?? createSemaphore(options.atOnce)
      if (share.active >= options.atOnce && share.waiting >= options.maxWaiting) return undefined
      shares.set(peerId, share)
      return share.run(work).finally(() => {
        if (share.active === 0 && shares.get(peerId) === share) shares.delete(peerId)
      })
    },
    /** Pieces of work of this peer, begun and not ended. */
    active: (peerId: string): number => shares.get(peerId)?.active ?? 0,
  }
}
