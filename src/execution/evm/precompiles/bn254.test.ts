import { bn254 } from '@noble/curves/bn254.js'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import {
  compare,
  ours,
  prague,
  Random,
  RUNS,
  SEED,
  scalarOf,
  TIME_LIMIT_MS,
  withDamage,
} from './testUtils/differential.ts'

describe(`bn254 (seed ${SEED})`, { timeout: TIME_LIMIT_MS }, () => {
  const { G1, G2, fields } = bn254
  const p = fields.Fp.ORDER
  const r = fields.Fr.ORDER
  const word = (value: bigint) => bigIntToBytes(value, 32)
  function g1(random: Random, multiple = BigInt(1 + random.below(2 ** 30))): Uint8Array {
    if (random.chance(0.1)) return new Uint8Array(64)
    const { x, y } = G1.Point.BASE.multiply(multiple).toAffine()
    if (random.chance(0.05)) return concatBytes(word(x + p), word(y))
    if (random.chance(0.05)) return concatBytes(word(x), word(y + p))
    if (random.chance(0.05)) return concatBytes(word(p), word(p))
    return concatBytes(word(x), word(random.chance(0.1) ? p - y : y))
  }
  function g2(random: Random, multiple = BigInt(1 + random.below(2 ** 30))): Uint8Array {
    if (random.chance(0.1)) return new Uint8Array(128)
    const { x, y } = G2.Point.BASE.multiply(multiple).toAffine()
    if (random.chance(0.05)) return concatBytes(word(x.c1 + p), word(x.c0), word(y.c1), word(y.c0))
    return concatBytes(word(x.c1), word(x.c0), word(y.c1), word(y.c0))
  }
  /** A point of the twist that is not in the group. */
  function strayG2(random: Random): Uint8Array {
    for (;;) {
      const x = fields.Fp2.create({ c0: BigInt(random.below(2 ** 30)), c1: BigInt(random.below(2 ** 30)) })
      const b = fields.Fp2.div(fields.Fp2.create({ c0: 3n, c1: 0n }), fields.Fp2.create({ c0: 9n, c1: 1n }))
      try {
        const y = fields.Fp2.sqrt(fields.Fp2.add(fields.Fp2.mul(fields.Fp2.sqr(x), x), b))
        return concatBytes(word(x.c1), word(x.c0), word(y.c1), word(y.c0))
      } catch {
        // Not a square.
      }
    }
  }

  it('addition', async () => {
    const random = new Random(SEED)
    const make = () => {
      const first = g1(random)
      if (random.chance(0.1)) return concatBytes(first, first)
      if (random.chance(0.1)) {
        const point = G1.Point.BASE.multiply(5n)
        const [a, b] = [point.toAffine(), point.negate().toAffine()]
        return concatBytes(word(a.x), word(a.y), word(b.x), word(b.y))
      }
      return concatBytes(first, g1(random))
    }
    expect(await compare(prague(6), ours('isthmus')(6), withDamage(random, make))).toBeGreaterThan(RUNS / 8)
  })

  it('multiplication', async () => {
    const random = new Random(SEED + 1)
    const make = () => concatBytes(g1(random), scalarOf(random, r))
    expect(await compare(prague(7), ours('isthmus')(7), withDamage(random, make))).toBeGreaterThan(RUNS / 8)
  })

  it('pairing', async () => {
    const random = new Random(SEED + 2)
    const make = () => {
      const pairs: Uint8Array[] = []
      const count = random.pick(0, 1, 2, 3, 9)
      for (let pair = 0; pair < count; pair++) pairs.push(g1(random), g2(random))
      if (random.chance(0.1)) pairs.push(g1(random), strayG2(random))
      // e(a P, Q) e(-P, a Q) = 1
      if (random.chance(0.4)) {
        const { x, y } = G1.Point.BASE.multiply(7n).toAffine()
        const base = G1.Point.BASE.negate().toAffine()
        const quiet = new Random(3)
        quiet.chance = () => false
        pairs.push(word(x), word(y), g2(quiet, 1n), word(base.x), word(base.y), g2(quiet, 7n))
        if (random.chance(0.7)) return concatBytes(...pairs.slice(-4), ...pairs.slice(-6, -4))
      }
      return concatBytes(...pairs)
    }
    const few = [...withDamage(random, make)].slice(0, RUNS)
    expect(await compare(prague(8), ours('isthmus')(8), few)).toBeGreaterThan(RUNS / 12)
  })
})
