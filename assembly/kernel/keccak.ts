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

/** a ^ (~b & c) */
function chi(a: v128, b: v128, c: v128): v128 {
  return v128.xor(a, v128.andnot(c, b))
}

/** Parity of the column whose first word is at `word`. */
function parity(word: u32): v128 {
  const first = v128.xor(v128.load(word), v128.load(word, 80))
  const second = v128.xor(v128.load(word, 160), v128.load(word, 240))
  return v128.xor(v128.xor(first, second), v128.load(word, 320))
}

/**
 * The permutation of the state pair, 400 bytes, at `state`. A processor has sixteen vector registers, too few for a state:
 * each round reads it from one place and writes it to another, a row at a time, and so keeps no more than a row, the
 * columns' parities for the next round, and what theta adds to each column.
 */
export function permutePair(state: u32): void {
  let from = state
  let to = OTHER
  let c0 = parity(state)
  let c1 = parity(state + 16)
  let c2 = parity(state + 32)
  let c3 = parity(state + 48)
  let c4 = parity(state + 64)
  for (let round: u32 = 0; round < 24; round++) {
    // theta
    const d0 = v128.xor(c4, rotate(c1, 1))
    const d1 = v128.xor(c0, rotate(c2, 1))
    const d2 = v128.xor(c1, rotate(c3, 1))
    const d3 = v128.xor(c2, rotate(c4, 1))
    const d4 = v128.xor(c3, rotate(c0, 1))
    // rho and pi of the first row, then its chi, and iota
    const b0 = v128.xor(v128.load(from), d0)
    const b1 = rotate(v128.xor(v128.load(from, 96), d1), 44)
    const b2 = rotate(v128.xor(v128.load(from, 192), d2), 43)
    const b3 = rotate(v128.xor(v128.load(from, 288), d3), 21)
    const b4 = rotate(v128.xor(v128.load(from, 384), d4), 14)
    const a0 = v128.xor(chi(b0, b1, b2), v128.load64_splat(ROUND_CONSTANTS + round * 8))
    v128.store(to, a0)
    c0 = a0
    const a1 = chi(b1, b2, b3)
    v128.store(to, a1, 16)
    c1 = a1
    const a2 = chi(b2, b3, b4)
    v128.store(to, a2, 32)
    c2 = a2
    const a3 = chi(b3, b4, b0)
    v128.store(to, a3, 48)
    c3 = a3
    const a4 = chi(b4, b0, b1)
    v128.store(to, a4, 64)
    c4 = a4
    // second row
    const b5 = rotate(v128.xor(v128.load(from, 48), d3), 28)
    const b6 = rotate(v128.xor(v128.load(from, 144), d4), 20)
    const b7 = rotate(v128.xor(v128.load(from, 160), d0), 3)
    const b8 = rotate(v128.xor(v128.load(from, 256), d1), 45)
    const b9 = rotate(v128.xor(v128.load(from, 352), d2), 61)
    const a5 = chi(b5, b6, b7)
    v128.store(to, a5, 80)
    c0 = v128.xor(c0, a5)
    const a6 = chi(b6, b7, b8)
    v128.store(to, a6, 96)
    c1 = v128.xor(c1, a6)
    const a7 = chi(b7, b8, b9)
    v128.store(to, a7, 112)
    c2 = v128.xor(c2, a7)
    const a8 = chi(b8, b9, b5)
    v128.store(to, a8, 128)
    c3 = v128.xor(c3, a8)
    const a9 = chi(b9, b5, b6)
    v128.store(to, a9, 144)
    c4 = v128.xor(c4, a9)
    // third row
    const b10 = rotate(v128.xor(v128.load(from, 16), d1), 1)
    const b11 = rotate(v128.xor(v128.load(from, 112), d2), 6)
    const b12 = rotate(v128.xor(v128.load(from, 208), d3), 25)
    const b13 = rotate(v128.xor(v128.load(from, 304), d4), 8)
    const b14 = rotate(v128.xor(v128.load(from, 320), d0), 18)
    const a10 = chi(b10, b11, b12)
    v128.store(to, a10, 160)
    c0 = v128.xor(c0, a10)
    const a11 = chi(b11, b12, b13)
    v128.store(to, a11, 176)
    c1 = v128.xor(c1, a11)
    const a12 = chi(b12, b13, b14)
    v128.store(to, a12, 192)
    c2 = v128.xor(c2, a12)
    const a13 = chi(b13, b14, b10)
    v128.store(to, a13, 208)
    c3 = v128.xor(c3, a13)
    const a14 = chi(b14, b10, b11)
    v128.store(to, a14, 224)
    c4 = v128.xor(c4, a14)
    // fourth row
    const b15 = rotate(v128.xor(v128.load(from, 64), d4), 27)
    const b16 = rotate(v128.xor(v128.load(from, 80), d0), 36)
    const b17 = rotate(v128.xor(v128.load(from, 176), d1), 10)
    const b18 = rotate(v128.xor(v128.load(from, 272), d2), 15)
    const b19 = rotate(v128.xor(v128.load(from, 368), d3), 56)
    const a15 = chi(b15, b16, b17)
    v128.store(to, a15, 240)
    c0 = v128.xor(c0, a15)
    const a16 = chi(b16, b17, b18)
    v128.store(to, a16, 256)
    c1 = v128.xor(c1, a16)
    const a17 = chi(b17, b18, b19)
    v128.store(to, a17, 272)
    c2 = v128.xor(c2, a17)
    const a18 = chi(b18, b19, b15)
    v128.store(to, a18, 288)
    c3 = v128.xor(c3, a18)
    const a19 = chi(b19, b15, b16)
    v128.store(to, a19, 304)
    c4 = v128.xor(c4, a19)
    // fifth row
    const b20 = rotate(v128.xor(v128.load(from, 32), d2), 62)
    const b21 = rotate(v128.xor(v128.load(from, 128), d3), 55)
    const b22 = rotate(v128.xor(v128.load(from, 224), d4), 39)
    const b23 = rotate(v128.xor(v128.load(from, 240), d0), 41)
    const b24 = rotate(v128.xor(v128.load(from, 336), d1), 2)
    const a20 = chi(b20, b21, b22)
    v128.store(to, a20, 320)
    c0 = v128.xor(c0, a20)
    const a21 = chi(b21, b22, b23)
    v128.store(to, a21, 336)
    c1 = v128.xor(c1, a21)
    const a22 = chi(b22, b23, b24)
    v128.store(to, a22, 352)
    c2 = v128.xor(c2, a22)
    const a23 = chi(b23, b24, b20)
    v128.store(to, a23, 368)
    c3 = v128.xor(c3, a23)
    const a24 = chi(b24, b20, b21)
    v128.store(to, a24, 384)
    c4 = v128.xor(c4, a24)
    const next = from
    from = to
    to = next
  }
}
