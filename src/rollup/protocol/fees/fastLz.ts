/** log2 of the number of entries in the table of earlier positions. */
const HASH_BITS = 13
const MAX_DISTANCE = 8191
const MAX_MATCH = 262
/** Number of bytes at the end where no match may start. */
const TAIL_BYTES = 13
const HASH_FACTOR = 2_654_435_769

/** The last position of each hash; shared by all calls. */
const table = new Uint32Array(1 << HASH_BITS)

/**
 * Length to which FastLZ (level 1) would compress the data. It is the measure of L1 cost since Fjord (specs:
 * fjord/predeploys, "GasPriceOracle"; exec-engine, "Fjord L1 cost fee changes").
 */
export function fastLzLength(data: Uint8Array): number {
  table.fill(0)
  const limit = data.length < TAIL_BYTES ? 0 : data.length - TAIL_BYTES
  const compareEnd = limit + 9
  let length = 0
  let anchor = 0
  let position = 2
  while (position < limit) {
    let reference = 0
    let found = false
    while (position < limit) {
      const value = u24(data, position)
      const slot = hash(value)
      reference = table[slot] ?? 0
      table[slot] = position
      if (position - reference <= MAX_DISTANCE && value === u24(data, reference)) {
        // A match at the last position is dropped: the algorithm checks for the end after it has advanced.
        found = position + 1 < limit
        break
      }
      position++
    }
    if (!found) break
    if (position > anchor) length += literalsLength(position - anchor)
    const matched = matchLength(data, reference + 3, position + 3, compareEnd)
    const coded = matched - 1
    length += 3 * Math.floor(coded / MAX_MATCH) + (coded % MAX_MATCH >= 6 ? 3 : 2)
    position += matched
    for (let i = 0; i < 2; i++) {
      table[hash(u24(data, position))] = position
      position++
    }
    anchor = position
  }
  return length + literalsLength(data.length - anchor)
}

/** Each run of up to 32 literals takes one control byte. */
function literalsLength(count: number): number {
  const rest = count % 32
  return 33 * Math.floor(count / 32) + (rest === 0 ? 0 : rest + 1)
}

/** Index of the first difference plus one, or the number of compared bytes if there is no difference. */
function matchLength(data: Uint8Array, from: number, to: number, end: number): number {
  let count = 0
  while (to + count < end) {
    if (data[from + count] !== data[to + count]) return count + 1
    count++
  }
  return count
}

function u24(data: Uint8Array, at: number): number {
  return (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16)
}

function hash(value: number): number {
  return (Math.imul(HASH_FACTOR, value) >>> 19) & MAX_DISTANCE
}
