export interface CacheCounts {
  hits: number
  misses: number
  /** Entries added without evicting another entry, and entries added with an eviction. */
  added: number
  evicting: number
}

export function newCacheCounts(): CacheCounts {
  return { hits: 0, misses: 0, added: 0, evicting: 0 }
}
