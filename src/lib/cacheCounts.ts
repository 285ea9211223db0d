/** What a cache counts of itself. */
export interface CacheCounts {
  hits: number
  misses: number
  /** Entries put in without, and with, another one going for them. */
  added: number
  evicting: number
}

export function newCacheCounts(): CacheCounts {
  return { hits: 0, misses: 0, added: 0, evicting: 0 }
}
