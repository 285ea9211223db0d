/** The `count` candidates with the smallest edit distance to `text`, best first; ties keep their order. */
export function nearestTo(text: string, candidates: readonly string[], count: number): string[] {
  return candidates
    .map((candidate) => ({ candidate, distance: distanceOf(text.toLowerCase(), candidate) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ candidate }) => candidate)
}

/** The candidate for which `text` is probably a typing error: at most a third of the letters differ. */
export function nearMiss(text: string, candidates: readonly string[]): string | undefined {
  const distances = candidates.map((candidate) => distanceOf(text.toLowerCase(), candidate.toLowerCase()))
  const least = Math.min(...distances)
  return least <= text.length / 3 ? candidates[distances.indexOf(least)] : undefined
}

/** `unknown fork "kasrt", did you mean karst? Known are …`. */
export function unknownName(what: string, text: string, known: readonly string[]): string {
  const meant = nearMiss(text, known)
  const hint = meant === undefined ? ': known are' : `, did you mean ${meant}? Known are`
  return `unknown ${what} "${text}"${hint} ${known.join(', ')}`
}

/** Number of insertions, deletions and replacements that turn `from` into a text that begins or ends like `to`. */
function distanceOf(from: string, to: string): number {
  // A letter that only the candidate has costs half a point, so that "op" finds op-mainnet before other short names.
  let row = Array.from({ length: to.length + 1 }, (_, i) => i / 2)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replace = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 0.5))
    }
    row = next
  }
  return row[to.length] ?? 0
}
