import { createSemaphore, type Semaphore } from '../../lib/semaphore.ts'

/** Limits concurrent jobs per peer. A peer's jobs wait only for jobs of the same peer. */
export function createPerPeerLimiter(options: { atOnce: number; maxWaiting: number }) {
  const shares = new Map<string, Semaphore>()
  return {
    /**
     * Runs the job, at once if the peer has fewer than `atOnce` active. Undefined: `maxWaiting` jobs are waiting
     * already.
     */
    run(peerId: string, work: () => Promise<void>): Promise<void> | undefined {
      const share = shares.get(peerId) ?? createSemaphore(options.atOnce)
      if (share.active >= options.atOnce && share.waiting >= options.maxWaiting) return undefined
      shares.set(peerId, share)
      return share.run(work).finally(() => {
        if (share.active === 0 && shares.get(peerId) === share) shares.delete(peerId)
      })
    },
    /** Number of jobs of this peer that have begun and not ended. */
    active: (peerId: string): number => shares.get(peerId)?.active ?? 0,
  }
}
