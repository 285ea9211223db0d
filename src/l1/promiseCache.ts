import { newCacheCounts } from '../lib/cacheCounts.ts'

/**
 * Remembers the newest `capacity` results by key, least recently used out first. What is under way is shared by all who ask;
 * what failed, or is `undefined`, is forgotten and asked for again.
 */
export class PromiseCache<V> {
  private readonly entries = new Map<string, Promise<V>>()
  private readonly capacity: number
  readonly counts = newCacheCounts()

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get size(): number {
    return this.entries.size
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.entries.get(key)
    if (known !== undefined) {
      this.entries.delete(key)
      this.entries.set(key, known)
      this.counts.hits++
      return known
    }
    this.counts.misses++
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

  /** What is known or under way; counts as no use. */
  peek(key: string): Promise<V> | undefined {
    return this.entries.get(key)
  }

  put(key: string, value: Promise<V>): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    if (this.entries.size <= this.capacity) {
      this.counts.added++
      return
    }
    this.counts.evicting++
    const oldest = this.entries.keys().next()
    if (!oldest.done) this.entries.delete(oldest.value)
  }

  private forget(key: string, value: Promise<V>): void {
    if (this.entries.get(key) === value) this.entries.delete(key)
  }
}
