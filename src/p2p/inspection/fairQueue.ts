import { LruMap } from '../../lib/lruMap.ts'

/**
 * Queue with a few items of each peer. `take` serves the peer that used the least processing time recently. So a peer
 * with many or slow items delays only itself.
 */
export interface FairQueue<T> {
  /**
   * Appends to the peer's items. False: the peer's share is full. In a full queue the newest item of the peer with the
   * most items is evicted and returned.
   */
  add(peer: string, item: T): boolean | T
  /** The oldest item of the next peer. */
  take(): T | undefined
  charge(peer: string, spentMs: number): void
  /** Removes and returns all items that meet the condition. */
  remove(condition: (item: T) => boolean): T[]
  readonly size: number
}

/** Used time counts half after this. */
const HALF_LIFE_MS = 1_000
const MAX_CHARGED = 1_000

export function createFairQueue<T>(
  limits: { total: number; perPeer: number },
  now: () => number = Date.now,
): FairQueue<T> {
  /** In order of arrival. A peer without items is not in the map. */
  const waiting = new Map<string, T[]>()
  let size = 0
  const charged = new LruMap<string, { spentMs: number; atMs: number }>(MAX_CHARGED)

  const spentOn = (peer: string): number => {
    const known = charged.get(peer)
    return known === undefined ? 0 : known.spentMs * 0.5 ** ((now() - known.atMs) / HALF_LIFE_MS)
  }
  const cheapest = (): [string, T[]] | undefined => {
    let found: [string, T[]] | undefined
    let least = Number.POSITIVE_INFINITY
    for (const entry of waiting) {
      const spent = spentOn(entry[0])
      if (spent >= least) continue
      found = entry
      least = spent
    }
    return found
  }
  const longest = (): [string, T[]] | undefined => {
    let found: [string, T[]] | undefined
    for (const entry of waiting) if (found === undefined || entry[1].length > found[1].length) found = entry
    return found
  }
  return {
    add(peer, item) {
      const own = waiting.get(peer) ?? []
      if (own.length >= limits.perPeer) return false
      let evicted: T | undefined
      if (size >= limits.total) {
        const most = longest()
        if (most === undefined || most[1].length <= own.length + 1) return false
        evicted = most[1].pop()
        size -= 1
      }
      own.push(item)
      waiting.set(peer, own)
      size += 1
      return evicted ?? true
    },
    take() {
      const next = cheapest()
      if (next === undefined) return undefined
      const [peer, items] = next
      waiting.delete(peer)
      const item = items.shift()
      if (items.length > 0) waiting.set(peer, items)
      size -= 1
      return item
    },
    charge(peer, spentMs) {
      charged.set(peer, { spentMs: spentOn(peer) + spentMs, atMs: now() })
    },
    remove(condition) {
      const removed: T[] = []
      for (const [peer, items] of waiting) {
        const kept = items.filter((item) => !condition(item))
        if (kept.length === items.length) continue
        removed.push(...items.filter(condition))
        if (kept.length === 0) waiting.delete(peer)
        else waiting.set(peer, kept)
      }
      size -= removed.length
      return removed
    },
    get size() {
      return size
    },
  }
}
