/** The state in the page's address: the node, peer and block, and the filter of the peers. */
export interface Place {
  node?: string | undefined
  peer?: string | undefined
  block?: string | undefined
  /** Hash of the block whose sheet is open. */
  details?: string | undefined
  search?: string | undefined
  show?: string | undefined
}

const KEYS = ['node', 'peer', 'block', 'details', 'search', 'show'] as const

export function readPlace(hash: string): Place {
  const given = new URLSearchParams(hash.replace(/^#/, ''))
  return Object.fromEntries(KEYS.map((key) => [key, given.get(key) || undefined]))
}

/** The text for the address; empty without a selection. */
export function writePlace(place: Place): string {
  const chosen = KEYS.flatMap((key): [string, string][] => {
    const value = place[key]
    return value === undefined || value === '' ? [] : [[key, value]]
  })
  return chosen.length === 0 ? '' : `#${new URLSearchParams(chosen)}`
}
