/**
 * Map that keeps at least the latest half of `maxEntries`: once as many have come or been asked for, what was not goes. All
 * at once, since of a Map that loses its first entries one by one the first that is left takes long to find.
 */
export class GenerationMap<K, V> {
  private readonly half: number
  private young = new Map<K, V>()
  private old = new Map<K, V>()

  constructor(maxEntries: number) {
    this.half = maxEntries / 2
  }

  /** undefined: there is none. */
  get(key: K): V | undefined {
    const known = this.young.get(key)
    if (known !== undefined) return known
    const older = this.old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: K, value: V): void {
    this.young.set(key, value)
    if (this.young.size < this.half) return
    this.old = this.young
    this.young = new Map()
  }

  clear(): void {
    this.old.clear()
    this.young.clear()
  }
}
