import type { Registry } from 'prom-client'
import type { CacheCounts } from './lruMap.ts'
import { createMetricMakers } from './metricMakers.ts'

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
  const { sampled } = createMetricMakers(registry, `${name}_`)
  // Each endpoint has its own client. Caches of the same type are added up.
  const caches: { type: string; cache: CountedCache }[] = []
  sampled('gauge', 'size', 'Entries of a cache', ['type'], () =>
    caches.map(({ type, cache }) => ({ labels: { type }, value: cache.size })),
  )
  sampled('counter', 'get', 'Lookups in a cache, by hit or miss', ['type', 'hit'], () =>
    caches.flatMap(({ type, cache: { counts } }) => [
      { labels: { type, hit: 'true' }, value: counts.hits },
      { labels: { type, hit: 'false' }, value: counts.misses },
    ]),
  )
  sampled('counter', 'add', 'Entries added to a cache, with or without an eviction', ['type', 'evicted'], () =>
    caches.flatMap(({ type, cache: { counts } }) => [
      { labels: { type, evicted: 'true' }, value: counts.evicting },
      { labels: { type, evicted: 'false' }, value: counts.added },
    ]),
  )
  return (type, cache) => void caches.push({ type, cache })
}
