import { LruMap } from '../../lib/lruMap.ts'

/** Used time counts half after this. */
const HALF_LIFE_MS = 1_000
const MAX_CHARGED = 1_000

/**
 * Queue with a few items of each peer. `take` serves the peer that used the least processing time recently. So a peer
 * with many or slow items delays only itself.
 */
export function createFairQueue<T>(limits: { total: number; perPeer: number }, now: () => number = Date.now) {
  /** Oldest first. The peer that was served last is at the end. */
  const waiting = new Map<string, T[]>()
  const charged = new LruMap<string, { spentMs: number; atMs: number }>(MAX_CHARGED)

  const spentOn = (peer: string): number => {
    const known = charged.get(peer)
    return known === undefined ? 0 : known.spentMs * 0.5 ** ((now() - known.atMs) / HALF_LIFE_MS)
  }
  const setItems = (peer: string, items: T[]): void => {
    if (items.length === 0) waiting.delete(peer)
    else waiting.set(peer, items)
  }
  return {
    /**
     * Appends to the peer's items. False: the peer's share is full. In a full queue the newest item of the peer with
     * the most items is evicted and returned.
     */
    add(peer: string, item: T): boolean | T {
      const own = waiting.get(peer) ?? []
      if (own.length >= limits.perPeer) return false
      const all = [...waiting.values()]
      let evicted: T | undefined
      if (all.flat().length >= limits.total) {
        const longest = all.reduce((a, b) => (b.length > a.length ? b : a))
        if (longest.length <= own.length + 1) return false
        evicted = longest.pop()
      }
      setItems(peer, [...own, item])
      return evicted ?? true
    },
    /** The oldest item of the next peer. */
    take(): T | undefined {
      const spent = [...waiting.keys()].map((peer) => ({ peer, ms: spentOn(peer) }))
      if (spent.length === 0) return undefined
      const { peer } = spent.reduce((a, b) => (b.ms < a.ms ? b : a))
      const [item, ...rest] = waiting.get(peer) ?? []
      waiting.delete(peer)
      setItems(peer, rest)
      return item
    },
    charge(peer: string, spentMs: number): void {
      charged.set(peer, { spentMs: spentOn(peer) + spentMs, atMs: now() })
    },
    remove(removed: T): void {
      for (const [peer, items] of [...waiting]) {
        setItems(
          peer,
          items.filter((item) => item !== removed),
        )
      }
    },
  }
}
