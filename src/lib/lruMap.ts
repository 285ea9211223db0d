export interface CacheCounts {
  hits: number
  misses: number
  /** Entries added without evicting another entry, and entries added with an eviction. */
  added: number
  evicting: number
}

/**
 * Map that evicts the least recently used entry when it holds more than `maxEntries`. A `get` does not update the order
 * while the map is less than half full. Entries in use are then reordered before the first eviction.
 */
export class LruMap<K, V> {
  private readonly entries = new Map<K, V>()
  private readonly maxEntries: number
  /** Key of the last entry in the map; undefined if unknown. */
  private newest: K | undefined
  readonly counts: CacheCounts = { hits: 0, misses: 0, added: 0, evicting: 0 }

  constructor(maxEntries: number) {
    this.maxEntries = maxEntries
  }

  get size(): number {
    return this.entries.size
  }

  get(key: K): V | undefined {
    const value = this.entries.get(key)
    if (value === undefined) this.counts.misses++
    else this.counts.hits++
    if (value === undefined || key === this.newest || this.entries.size < this.maxEntries / 2) return value
    this.entries.delete(key)
    this.entries.set(key, value)
    this.newest = key
    return value
  }

  /** Does not count as a use. */
  peek(key: K): V | undefined {
    return this.entries.get(key)
  }

  set(key: K, value: V): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    this.newest = key
    if (this.entries.size <= this.maxEntries) {
      this.counts.added++
      return
    }
    this.counts.evicting++
    const oldest = this.entries.keys().next()
    if (oldest.done !== true) this.entries.delete(oldest.value)
  }

  delete(key: K): void {
    this.entries.delete(key)
  }

  values(): IterableIterator<V> {
    return this.entries.values()
  }

  clear(): void {
    this.entries.clear()
    this.newest = undefined
  }
}
