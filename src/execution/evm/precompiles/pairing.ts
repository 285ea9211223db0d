import type { CurveGroup } from './curveGroup.ts'
import { SIZES } from './mcl.ts'

export class Pairing {
  private readonly g1: CurveGroup
  private readonly g2: CurveGroup
  private readonly product: number
  private readonly factor: number

  constructor(g1: CurveGroup, g2: CurveGroup) {
    this.g1 = g1
    this.g2 = g2
    this.product = g1.mcl.reserve(SIZES.gt)
    this.factor = g1.mcl.reserve(SIZES.gt)
  }

  /**
   * Whether the product of the pairings is one. Computes `pairsPerStep` pairings in each step. Undefined if a pair is
   * invalid. `put` writes a pair to the index in both groups, and returns whether it is valid.
   */
  *isProductOne(
    pairs: number,
    pairsPerStep: number,
    put: (index: number, pair: number) => boolean,
  ): Generator<undefined, boolean | undefined, undefined> {
    const { g1, g2, product, factor } = this
    const { mcl } = g1
    const { raw } = mcl
    /** Copied out of mcl's memory between steps. */
    let before: Uint8Array | undefined
    for (let first = 0; first < pairs; first += pairsPerStep) {
      if (first > 0) yield
      let count = 0
      for (let pair = first; pair < Math.min(first + pairsPerStep, pairs); pair++) {
        if (!put(count, pair)) return undefined
        // A pairing with the point at infinity is one.
        if (!g1.isZero(count) && !g2.isZero(count)) count++
      }
      if (count === 0) continue
      // A pairing of two other points of the groups' order is not one.
      if (pairs === 1) return false
      raw.mclBn_millerLoopVec(factor, g1.points, g2.points, count)
      if (before === undefined) mcl.memory().copyWithin(product, factor, factor + SIZES.gt)
      else {
        mcl.memory().set(before, product)
        raw.mclBnGT_mul(product, product, factor)
      }
      before = mcl.memory().slice(product, product + SIZES.gt)
    }
    if (before === undefined) return true
    raw.mclBn_finalExp(product, product)
    return raw.mclBnGT_isOne(product) === 1
  }
}
