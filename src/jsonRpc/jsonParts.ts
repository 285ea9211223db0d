const BRACKETS = ['[', '{'] as const

/** Whether there may be more arrays and objects than `limit`. */
export function hasMoreContainers(json: string, limit: number): boolean {
  return hasMore(json, limit, BRACKETS)
}

/**
 * Whether there may be more arrays, objects and members of objects than `limit`: parsing takes long for millions of
 * them, and for hundreds of thousands of different keys.
 */
export function hasMoreParts(json: string, limit: number): boolean {
  return hasMore(json, limit, [...BRACKETS, ':'])
}

/** Counts without parsing, including characters in strings: few of our parameters and results contain one. */
function hasMore(json: string, limit: number, marks: readonly string[]): boolean {
  if (json.length <= limit) return false
  let count = 0
  for (const mark of marks) {
    for (let at = json.indexOf(mark); at !== -1; at = json.indexOf(mark, at + 1)) {
      if (++count > limit) return true
    }
  }
  return false
}
