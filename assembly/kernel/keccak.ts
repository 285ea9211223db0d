// biome-ignore-all lint/correctness/noPrecisionLoss: 64-bit integers, which this language has

// Keccak-f[1600] (FIPS 202, section 3.3) on two states at once: word i of both stands in one 128-bit vector, the first
// state's in its low half.

const ROUND_CONSTANTS: u32 = <u32>(
  memory.data<u64>([
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
  ])
)

/** Where the state stands after every other round. */
const OTHER: u32 = <u32>memory.data(400, 16)

function rotate(word: v128, bits: i32): v128 {
  return v128.or(i64x2.shl(word, bits), i64x2.shr_u(word, 64 - bits))
}

/** Parity of the column whose first word is at `word`. */
function parity(word: u32): v128 {
  const first = v128.xor(v128.load(word), v128.load(word, 80))
  const second = v128.xor(v128.load(word, 160), v128.load(word, 240))
  return v128.xor(v128.xor(first, second), v128.load(word, 320))
}

/** a ^ (~b & c) */
function chi(a: v128, b: v128, c: v128): v128 {
  return v128.xor(a, v128.andnot(c, b))
}

/** Chi of one row, from its words after theta, rho and pi. */
function writeRow(to: u32, b0: v128, b1: v128, b2: v128, b3: v128, b4: v128): void {
  v128.store(to, chi(b0, b1, b2))
  v128.store(to, chi(b1, b2, b3), 16)
  v128.store(to, chi(b2, b3, b4), 32)
  v128.store(to, chi(b3, b4, b0), 48)
  v128.store(to, chi(b4, b0, b1), 64)
}

/**
 * The permutation of the state pair, 400 bytes, at `state`. A processor has sixteen vector registers, too few for a state:
 * each round reads it from one place and writes it to another, a row at a time.
 */
export function permutePair(state: u32): void {
  let from = state
  let to = OTHER
  for (let round: u32 = 0; round < 24; round++) {
    const c0 = parity(from)
    const c1 = parity(from + 16)
    const c2 = parity(from + 32)
    const c3 = parity(from + 48)
    const c4 = parity(from + 64)
    // What theta adds to each column.
    const d0 = v128.xor(c4, rotate(c1, 1))
    const d1 = v128.xor(c0, rotate(c2, 1))
    const d2 = v128.xor(c1, rotate(c3, 1))
    const d3 = v128.xor(c2, rotate(c4, 1))
    const d4 = v128.xor(c3, rotate(c0, 1))
    writeRow(
      to,
      v128.xor(v128.load(from), d0),
      rotate(v128.xor(v128.load(from, 96), d1), 44),
      rotate(v128.xor(v128.load(from, 192), d2), 43),
      rotate(v128.xor(v128.load(from, 288), d3), 21),
      rotate(v128.xor(v128.load(from, 384), d4), 14),
    )
    // iota
    v128.store(to, v128.xor(v128.load(to), v128.load64_splat(ROUND_CONSTANTS + round * 8)))
    writeRow(
      to + 80,
      rotate(v128.xor(v128.load(from, 48), d3), 28),
      rotate(v128.xor(v128.load(from, 144), d4), 20),
      rotate(v128.xor(v128.load(from, 160), d0), 3),
      rotate(v128.xor(v128.load(from, 256), d1), 45),
      rotate(v128.xor(v128.load(from, 352), d2), 61),
    )
    writeRow(
      to + 160,
      rotate(v128.xor(v128.load(from, 16), d1), 1),
      rotate(v128.xor(v128.load(from, 112), d2), 6),
      rotate(v128.xor(v128.load(from, 208), d3), 25),
      rotate(v128.xor(v128.load(from, 304), d4), 8),
      rotate(v128.xor(v128.load(from, 320), d0), 18),
    )
    writeRow(
      to + 240,
      rotate(v128.xor(v128.load(from, 64), d4), 27),
      rotate(v128.xor(v128.load(from, 80), d0), 36),
      rotate(v128.xor(v128.load(from, 176), d1), 10),
      rotate(v128.xor(v128.load(from, 272), d2), 15),
      rotate(v128.xor(v128.load(from, 368), d3), 56),
    )
    writeRow(
      to + 320,
      rotate(v128.xor(v128.load(from, 32), d2), 62),
      rotate(v128.xor(v128.load(from, 128), d3), 55),
      rotate(v128.xor(v128.load(from, 224), d4), 39),
      rotate(v128.xor(v128.load(from, 240), d0), 41),
      rotate(v128.xor(v128.load(from, 336), d1), 2),
    )
    const next = from
    from = to
    to = next
  }
}
