import { createECDH } from 'node:crypto'
import { bytesToBigInt, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { isZero, Lazy, Mcl, SIZES } from './mcl.ts'
import { flagWord, oneStep, type Precompile } from './precompile.ts'

const INPUT_BYTES = 160

/** Order of the group (SEC 2, section 2.4.2). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** SEC 1, section 2.3.3: an uncompressed point. */
const UNCOMPRESSED = 4

/**
 * An mcl instance with this curve, for additions. OpenSSL runs the two multiplications in half the time of WebAssembly.
 */
class P256 {
  private readonly mcl: Mcl
  private readonly key: number
  private readonly sum: number
  private readonly scalars: number
  private readonly ecdh = createECDH('prime256v1')

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.key = mcl.reserve(SIZES.g1)
    this.sum = mcl.reserve(SIZES.g1)
    this.scalars = mcl.reserve(4 * SIZES.scalar)
  }

  /** ECDSA (FIPS 186-5, section 6.4.2). Input: hash ‖ r ‖ s ‖ x ‖ y, 32 bytes each. */
  isSigned(input: Uint8Array): boolean {
    const { mcl, key, sum, scalars } = this
    const { raw } = mcl
    const word = (index: number) => input.subarray(index * 32, index * 32 + 32)
    const scalar = (index: number) => scalars + index * SIZES.scalar
    const [hash, r, s, ratio] = [scalar(0), scalar(1), scalar(2), scalar(3)]
    if (!mcl.putScalar(r, word(1)) || !mcl.putScalar(s, word(2))) return false
    if (raw.mclBnFr_isZero(r) === 1 || raw.mclBnFr_isZero(s) === 1) return false
    // The point at infinity is not a key.
    if (isZero(input.subarray(96)) || !mcl.putPoint(key, [word(3), word(4)])) return false
    mcl.putScalarModulo(hash, word(0))
    // With u1 = hash / s and u2 = r / s, the point u1 G + u2 Q equals u2 (hash / r G + Q). Only its x is needed.
    raw.mclBnFr_inv(ratio, r)
    raw.mclBnFr_mul(ratio, ratio, hash)
    if (raw.mclBnFr_isZero(ratio) === 1) raw.mclBnG1_clear(sum)
    else {
      this.ecdh.setPrivateKey(mcl.takeScalar(ratio))
      const point = this.ecdh.getPublicKey()
      mcl.putPoint(sum, [point.subarray(1, 33), point.subarray(33)])
    }
    raw.mclBnG1_add(sum, sum, key)
    if (raw.mclBnG1_isZero(sum) === 1) return false
    raw.mclBnG1_normalize(sum, sum)
    raw.mclBnFr_inv(s, s)
    raw.mclBnFr_mul(s, s, r)
    this.ecdh.setPrivateKey(mcl.takeScalar(s))
    const point = new Uint8Array(65)
    point[0] = UNCOMPRESSED
    mcl.takeField(sum, point, 1)
    mcl.takeField(sum + SIZES.field, point, 33)
    return bytesToBigInt(this.ecdh.computeSecret(point)) % ORDER === bytesToBigInt(word(1))
  }
}

const curve = new Lazy(async () => new P256(await Mcl.load('p256')))

/** RIP-7212 and EIP-7951, which differ only in price. Returns a word of 1, or nothing for an invalid signature. */
export function p256Verify(gas: bigint): Precompile {
  return {
    gas: () => gas,
    load: curve.load,
    run: oneStep((input) =>
      input.length === INPUT_BYTES && curve.value.isSigned(input) ? flagWord(true) : EMPTY_BYTES,
    ),
  }
}
