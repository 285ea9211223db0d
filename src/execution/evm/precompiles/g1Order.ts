import { fromHex } from '../../../lib/hex.ts'
import { type Mcl, SIZES } from './mcl.ts'

/** BLS12-381's z without its sign (draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1), highest bit first. */
const Z_BITS = [...0xd201000000010000n.toString(2)].map((bit) => bit === '1')
/** A third root of one in the field. Multiplying x by it multiplies a point of G1 by −z². */
const BETA = fromHex(
  '0x00000000000000005f19672fdf76ce51ba69c6076a0f77eaddb3a93be6f89688de17d813620a00022e01fffffffefffe',
)

/** Checks whether points of BLS12-381 are of G1's order. It takes four fifths of mcl's time. */
export class G1Order {
  private readonly mcl: Mcl
  private readonly beta: number
  private readonly image: number
  private readonly once: number
  private readonly twice: number

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.beta = mcl.reserve(SIZES.field)
    this.image = mcl.reserve(SIZES.g1)
    this.once = mcl.reserve(SIZES.g1)
    this.twice = mcl.reserve(SIZES.g1)
    if (!mcl.putField(this.beta, BETA)) throw new Error('no field element')
  }

  /**
   * φ(x, y) = (βx, y) satisfies φ² + φ + 1 = 0 on the whole curve. If φ(P) = −z²P, then (z⁴ − z² + 1)P = 0, and z⁴ − z²
   * + 1 is the order. Otherwise P is not in G1 (Scott, "A note on group membership tests", 2021).
   */
  has(point: number): boolean {
    const { mcl, beta, image, once, twice } = this
    const { raw } = mcl
    mcl.memory().copyWithin(image, point, point + SIZES.g1)
    raw.mclBnFp_mul(image, image, beta)
    raw.mclBnG1_neg(image, image)
    this.multiplyByZ(once, point)
    this.multiplyByZ(twice, once)
    return raw.mclBnG1_isEqual(image, twice) === 1
  }

  private multiplyByZ(target: number, point: number): void {
    const { raw } = this.mcl
    this.mcl.memory().copyWithin(target, point, point + SIZES.g1)
    for (let index = 1; index < Z_BITS.length; index++) {
      raw.mclBnG1_dbl(target, target)
      if (Z_BITS[index] === true) raw.mclBnG1_add(target, target, point)
    }
  }
}
