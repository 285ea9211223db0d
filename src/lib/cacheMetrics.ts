import { Counter, Gauge, type Registry } from 'prom-client'
import type { CacheCounts } from './cacheCounts.ts'

export interface CountedCache {
  readonly size: number
  readonly counts: Readonly<CacheCounts>
}

/** Registers a cache under a name, so that its counts appear in the metrics. */
export type CacheWatch = (type: string, cache: CountedCache) => void

/**
 * op-node's metrics of the caches of a source, read at each scrape: `<name>_size`, `_get{hit}` and `_add{evicted}` by
 * type.
 */
export function createCacheMetrics(registry: Registry, name: string): CacheWatch {
  const caches = new Map<string, CountedCache[]>()
  const sum = (list: readonly CountedCache[], read: (cache: CountedCache) => number) =>
    list.reduce((total, cache) => total + read(cache), 0)
  const registers = [registry]
  new Gauge({
    name: `${name}_size`,
    help: 'Entries of a cache',
    labelNames: ['type'],
    registers,
    collect() {
      for (const [type, list] of caches)
        this.set(
          { type },
          sum(list, ({ size }) => size),
        )
    },
  })
  new Counter({
    name: `${name}_get`,
    help: 'Lookups in a cache, by hit or miss',
    labelNames: ['type', 'hit'],
    registers,
    collect() {
      this.reset()
      for (const [type, list] of caches) {
        this.inc(
          { type, hit: 'true' },
          sum(list, ({ counts }) => counts.hits),
        )
        this.inc(
          { type, hit: 'false' },
          sum(list, ({ counts }) => counts.misses),
        )
      }
    },
  })
  new Counter({
    name: `${name}_add`,
    help: 'Entries added to a cache, with or without an eviction',
    labelNames: ['type', 'evicted'],
    registers,
    collect() {
      this.reset()
      for (const [type, list] of caches) {
        this.inc(
          { type, evicted: 'true' },
          sum(list, ({ counts }) => counts.evicting),
        )
        this.inc(
          { type, evicted: 'false' },
          sum(list, ({ counts }) => counts.added),
        )
      }
    },
  })
  return (type, cache) => {
    // Each endpoint has its own client. Caches of the same type are added up.
    caches.set(type, [...(caches.get(type) ?? []), cache])
  }
}
