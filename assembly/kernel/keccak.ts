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

function rotate(word: v128, bits: i32): v128 {
  return v128.or(i64x2.shl(word, bits), i64x2.shr_u(word, 64 - bits))
}

/** a ^ (~b & c) */
function chi(a: v128, b: v128, c: v128): v128 {
  return v128.xor(a, v128.andnot(c, b))
}

function xor5(a: v128, b: v128, c: v128, d: v128, e: v128): v128 {
  return v128.xor(v128.xor(v128.xor(a, b), v128.xor(c, d)), e)
}

/** The permutation of the state pair, 400 bytes, at `state`. */
export function permutePair(state: u32): void {
  let a0 = v128.load(state, 0)
  let a1 = v128.load(state, 16)
  let a2 = v128.load(state, 32)
  let a3 = v128.load(state, 48)
  let a4 = v128.load(state, 64)
  let a5 = v128.load(state, 80)
  let a6 = v128.load(state, 96)
  let a7 = v128.load(state, 112)
  let a8 = v128.load(state, 128)
  let a9 = v128.load(state, 144)
  let a10 = v128.load(state, 160)
  let a11 = v128.load(state, 176)
  let a12 = v128.load(state, 192)
  let a13 = v128.load(state, 208)
  let a14 = v128.load(state, 224)
  let a15 = v128.load(state, 240)
  let a16 = v128.load(state, 256)
  let a17 = v128.load(state, 272)
  let a18 = v128.load(state, 288)
  let a19 = v128.load(state, 304)
  let a20 = v128.load(state, 320)
  let a21 = v128.load(state, 336)
  let a22 = v128.load(state, 352)
  let a23 = v128.load(state, 368)
  let a24 = v128.load(state, 384)
  for (let round: u32 = 0; round < 24; round++) {
    // theta
    const c0 = xor5(a0, a5, a10, a15, a20)
    const c1 = xor5(a1, a6, a11, a16, a21)
    const c2 = xor5(a2, a7, a12, a17, a22)
    const c3 = xor5(a3, a8, a13, a18, a23)
    const c4 = xor5(a4, a9, a14, a19, a24)
    const d0 = v128.xor(c4, rotate(c1, 1))
    const d1 = v128.xor(c0, rotate(c2, 1))
    const d2 = v128.xor(c1, rotate(c3, 1))
    const d3 = v128.xor(c2, rotate(c4, 1))
    const d4 = v128.xor(c3, rotate(c0, 1))
    // rho and pi
    const b0 = v128.xor(a0, d0)
    const b1 = rotate(v128.xor(a6, d1), 44)
    const b2 = rotate(v128.xor(a12, d2), 43)
    const b3 = rotate(v128.xor(a18, d3), 21)
    const b4 = rotate(v128.xor(a24, d4), 14)
    const b5 = rotate(v128.xor(a3, d3), 28)
    const b6 = rotate(v128.xor(a9, d4), 20)
    const b7 = rotate(v128.xor(a10, d0), 3)
    const b8 = rotate(v128.xor(a16, d1), 45)
    const b9 = rotate(v128.xor(a22, d2), 61)
    const b10 = rotate(v128.xor(a1, d1), 1)
    const b11 = rotate(v128.xor(a7, d2), 6)
    const b12 = rotate(v128.xor(a13, d3), 25)
    const b13 = rotate(v128.xor(a19, d4), 8)
    const b14 = rotate(v128.xor(a20, d0), 18)
    const b15 = rotate(v128.xor(a4, d4), 27)
    const b16 = rotate(v128.xor(a5, d0), 36)
    const b17 = rotate(v128.xor(a11, d1), 10)
    const b18 = rotate(v128.xor(a17, d2), 15)
    const b19 = rotate(v128.xor(a23, d3), 56)
    const b20 = rotate(v128.xor(a2, d2), 62)
    const b21 = rotate(v128.xor(a8, d3), 55)
    const b22 = rotate(v128.xor(a14, d4), 39)
    const b23 = rotate(v128.xor(a15, d0), 41)
    const b24 = rotate(v128.xor(a21, d1), 2)
    // chi and iota
    a0 = v128.xor(chi(b0, b1, b2), v128.load64_splat(ROUND_CONSTANTS + round * 8))
    a1 = chi(b1, b2, b3)
    a2 = chi(b2, b3, b4)
    a3 = chi(b3, b4, b0)
    a4 = chi(b4, b0, b1)
    a5 = chi(b5, b6, b7)
    a6 = chi(b6, b7, b8)
    a7 = chi(b7, b8, b9)
    a8 = chi(b8, b9, b5)
    a9 = chi(b9, b5, b6)
    a10 = chi(b10, b11, b12)
    a11 = chi(b11, b12, b13)
    a12 = chi(b12, b13, b14)
    a13 = chi(b13, b14, b10)
    a14 = chi(b14, b10, b11)
    a15 = chi(b15, b16, b17)
    a16 = chi(b16, b17, b18)
    a17 = chi(b17, b18, b19)
    a18 = chi(b18, b19, b15)
    a19 = chi(b19, b15, b16)
    a20 = chi(b20, b21, b22)
    a21 = chi(b21, b22, b23)
    a22 = chi(b22, b23, b24)
    a23 = chi(b23, b24, b20)
    a24 = chi(b24, b20, b21)
  }
  v128.store(state, a0, 0)
  v128.store(state, a1, 16)
  v128.store(state, a2, 32)
  v128.store(state, a3, 48)
  v128.store(state, a4, 64)
  v128.store(state, a5, 80)
  v128.store(state, a6, 96)
  v128.store(state, a7, 112)
  v128.store(state, a8, 128)
  v128.store(state, a9, 144)
  v128.store(state, a10, 160)
  v128.store(state, a11, 176)
  v128.store(state, a12, 192)
  v128.store(state, a13, 208)
  v128.store(state, a14, 224)
  v128.store(state, a15, 240)
  v128.store(state, a16, 256)
  v128.store(state, a17, 272)
  v128.store(state, a18, 288)
  v128.store(state, a19, 304)
  v128.store(state, a20, 320)
  v128.store(state, a21, 336)
  v128.store(state, a22, 352)
  v128.store(state, a23, 368)
  v128.store(state, a24, 384)
}
