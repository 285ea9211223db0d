import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { fromHex } from '../../../lib/hex.ts'
import { isZero, lazily, Mcl, SIZES } from './mcl.ts'
import { flagWord, type Precompile } from './precompile.ts'

const INPUT_BYTES = 160

/** The base point of P-256 (SEC 2, section 2.4.2). */
const GENERATOR_X = fromHex('0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296')
const GENERATOR_Y = fromHex('0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5')

/** mcl with this curve, and where its numbers lie. */
class P256 {
  private readonly mcl: Mcl
  /** The generator, then a key. */
  private readonly points: number
  /** By which they are multiplied, then what else is a scalar. */
  private readonly scalars: number
  private readonly sum: number

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.points = mcl.reserve(2 * SIZES.g1)
    this.scalars = mcl.reserve(6 * SIZES.scalar)
    this.sum = mcl.reserve(SIZES.g1)
  }

  /** ECDSA (FIPS 186-5, section 6.4.2) of a hash; input hash ‖ r ‖ s ‖ x ‖ y, 32 bytes each. */
  isSigned(input: Uint8Array): boolean {
    const { mcl, points, scalars, sum } = this
    const { raw } = mcl
    const word = (index: number) => input.subarray(index * 32, index * 32 + 32)
    const scalar = (index: number) => scalars + index * SIZES.scalar
    const [u1, u2, hash, r, s] = [scalar(0), scalar(1), scalar(2), scalar(3), scalar(4)]
    if (!mcl.putScalar(r, word(1)) || !mcl.putScalar(s, word(2))) return false
    if (raw._mclBnFr_isZero(r) === 1 || raw._mclBnFr_isZero(s) === 1) return false
    // The point at infinity is no key.
    if (isZero(input.subarray(96)) || !mcl.putG1(points + SIZES.g1, word(3), word(4))) return false
    mcl.putScalarModulo(hash, word(0))
    raw._mclBnFr_inv(s, s)
    raw._mclBnFr_mul(u1, hash, s)
    raw._mclBnFr_mul(u2, r, s)
    mcl.putG1(points, GENERATOR_X, GENERATOR_Y)
    raw._mclBnG1_mulVec(sum, points, scalars, 2)
    if (raw._mclBnG1_isZero(sum) === 1) return false
    raw._mclBnG1_normalize(sum, sum)
    const x = new Uint8Array(32)
    mcl.takeField(sum, x, 0)
    mcl.putScalarModulo(scalar(5), x)
    return raw._mclBnFr_isEqual(scalar(5), r) === 1
  }
}

const curve = lazily(async () => new P256(await Mcl.load('p256')))

/** RIP-7212 and EIP-7951, which differ in the price: a word of 1, or nothing at all where it is no signature. */
export function p256Verify(gas: bigint): Precompile {
  return {
    gas: () => gas,
    load: () => (curve.ready() === undefined ? curve.load() : undefined),
    // biome-ignore lint/correctness/useYield: one short step
    *run(input) {
      const p256 = curve.ready()
      if (p256 === undefined) throw new Error('P-256 is used before it was loaded')
      return input.length === INPUT_BYTES && p256.isSigned(input) ? flagWord(true) : EMPTY_BYTES
    },
  }
}
