import { type CacheCounts, LruMap } from '../lib/lruMap.ts'

/**
 * Caches the last `capacity` results by key and evicts the least recently used. Concurrent callers share a pending
 * result. A failed or `undefined` result is not cached.
 */
export class PromiseCache<V> {
  private readonly entries: LruMap<string, Promise<V>>

  constructor(capacity: number) {
    this.entries = new LruMap(capacity)
  }

  get size(): number {
    return this.entries.size
  }

  get counts(): CacheCounts {
    return this.entries.counts
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.entries.get(key)
    if (known !== undefined) return known
    const loading = load()
    this.put(key, loading)
    loading.then(
      (value) => {
        if (value === undefined) this.forget(key, loading)
      },
      () => this.forget(key, loading),
    )
    return loading
  }

  /** The cached or pending result. Does not count as a use. */
  peek(key: string): Promise<V> | undefined {
    return this.entries.peek(key)
  }

  put(key: string, value: Promise<V>): void {
    this.entries.set(key, value)
  }

  private forget(key: string, value: Promise<V>): void {
    if (this.peek(key) === value) this.entries.delete(key)
  }
}
