import { bls12_381 } from '@noble/curves/bls12-381.js'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { toHex } from '../../../lib/hex.ts'
import {
  compare,
  GAS,
  ours,
  prague,
  Random,
  RUNS,
  SEED,
  scalarOf,
  TIME_LIMIT_MS,
  withDamage,
} from './testUtils/differential.ts'

describe(`BLS12-381 (seed ${SEED})`, { timeout: TIME_LIMIT_MS }, () => {
  const { G1, G2, fields } = bls12_381
  const p = fields.Fp.ORDER
  const r = fields.Fr.ORDER
  const element = (value: bigint) => bigIntToBytes(value, 64)
  const encodeG1 = ({ x, y }: { x: bigint; y: bigint }) => concatBytes(element(x), element(y))
  function g1(random: Random): Uint8Array {
    if (random.chance(0.1)) return new Uint8Array(128)
    if (random.chance(0.1)) return strayG1(random)
    const { x, y } = G1.Point.BASE.multiply(BigInt(1 + random.below(2 ** 30))).toAffine()
    if (random.chance(0.05)) return encodeG1({ x: x + p, y })
    if (random.chance(0.05)) return encodeG1({ x, y: y + 2n ** 390n })
    return encodeG1({ x, y: random.chance(0.1) ? p - y : y })
  }
  /** On the curve, but most likely not of the group's order. */
  function strayG1(random: Random): Uint8Array {
    for (;;) {
      const x = BigInt(random.below(2 ** 30))
      try {
        return encodeG1({ x, y: fields.Fp.sqrt(fields.Fp.create(x ** 3n + 4n)) })
      } catch {
        // Not a square.
      }
    }
  }
  const pointOf = (bytes: Uint8Array) => ({
    x: BigInt(toHex(bytes.subarray(0, 64))),
    y: BigInt(toHex(bytes.subarray(64))),
  })
  /** Multiplies by any factor. noble accepts only factors below the group's order. */
  function times(point: typeof G1.Point.ZERO, factor: bigint): typeof G1.Point.ZERO {
    let product = G1.Point.ZERO
    for (const bit of factor.toString(2)) {
      product = product.double()
      if (bit === '1') product = product.add(point)
    }
    return product
  }
  function g2(random: Random): Uint8Array {
    if (random.chance(0.1)) return new Uint8Array(256)
    if (random.chance(0.1)) return strayG2(random)
    const { x, y } = G2.Point.BASE.multiply(BigInt(1 + random.below(2 ** 30))).toAffine()
    const c0 = random.chance(0.05) ? x.c0 + p : x.c0
    return concatBytes(element(c0), element(x.c1), element(y.c0), element(y.c1))
  }
  function strayG2(random: Random): Uint8Array {
    const { Fp2 } = fields
    for (;;) {
      const x = Fp2.create({ c0: BigInt(random.below(2 ** 30)), c1: BigInt(random.below(2 ** 30)) })
      try {
        const y = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), Fp2.create({ c0: 4n, c1: 4n })))
        return concatBytes(element(x.c0), element(x.c1), element(y.c0), element(y.c1))
      } catch {
        // Not a square.
      }
    }
  }
  const many = (random: Random, ...counts: [number, ...number[]]) =>
    Array.from({ length: random.pick(...counts) }, () => 0)

  it.each([
    { id: 'G1 addition', number: 0x0b, make: (random: Random) => concatBytes(g1(random), g1(random)) },
    {
      id: 'G1 addition of a point and itself or its negative',
      number: 0x0b,
      make: (random: Random) => {
        const { x, y } = G1.Point.BASE.multiply(BigInt(1 + random.below(2 ** 30))).toAffine()
        return concatBytes(encodeG1({ x, y }), encodeG1({ x, y: random.chance(0.5) ? y : p - y }))
      },
    },
    { id: 'G2 addition', number: 0x0d, make: (random: Random) => concatBytes(g2(random), g2(random)) },
    {
      id: 'map to G1',
      number: 0x10,
      make: (random: Random) =>
        random.chance(0.6)
          ? element(fields.Fp.create(BigInt(`0x${toHex(random.bytes(48)).slice(2)}`)))
          : element(random.pick(0n, 1n, 2n, p - 1n, p, p + 1n, 2n ** 384n - 1n)),
    },
    {
      id: 'map to G2',
      number: 0x11,
      make: (random: Random) => {
        const one = () =>
          random.chance(0.7)
            ? element(fields.Fp.create(BigInt(`0x${toHex(random.bytes(48)).slice(2)}`)))
            : element(random.pick(0n, 1n, p - 1n, p))
        return concatBytes(one(), one())
      },
    },
  ])('$id', async ({ number, make }) => {
    const random = new Random(SEED + number)
    const succeeded = await compare(
      prague(number),
      ours('isthmus')(number),
      withDamage(random, () => make(random)),
    )
    expect(succeeded).toBeGreaterThan(RUNS / 12)
  })

  it.each([
    { id: 'G1', number: 0x0c, point: g1 },
    { id: 'G2', number: 0x0e, point: g2 },
  ])('multi-scalar multiplication in $id', async ({ number, point }) => {
    const random = new Random(SEED + number)
    const make = () => {
      const quiet = new Random(random.below(2 ** 30))
      // Long sums have valid points, or hardly any would succeed.
      const items = many(random, 1, 1, 1, 2, 5, 40)
      if (items.length > 5) quiet.chance = () => false
      return concatBytes(...items.flatMap(() => [point(quiet), scalarOf(random, r)]))
    }
    const few = [...withDamage(random, make)].slice(0, RUNS)
    expect(await compare(prague(number), ours('isthmus')(number), few)).toBeGreaterThan(RUNS / 12)
  })

  it.each([3n, 11n, 10177n, 859267n, 52437899n])('refuses a point of order %d as not in G1', async (order) => {
    const random = new Random(SEED + Number(order))
    // The curve's order is r h, with h = (z - 1)^2 / 3.
    const cofactor = 0x396c8c005555e1568c00aaab0000aaabn
    let most = cofactor
    while (most % order === 0n) most /= order
    let point = G1.Point.ZERO
    while (point.is0()) {
      const { x, y } = pointOf(strayG1(random))
      point = times(G1.Point.fromAffine({ x, y }), r * most)
    }
    for (let next = times(point, order); !next.is0(); next = times(point, order)) point = next
    const generator = G1.Point.BASE
    for (const stray of [point, point.negate(), generator.add(point), generator.subtract(point)]) {
      const input = concatBytes(encodeG1(stray.toAffine()), scalarOf(random, r))
      expect(await ours('isthmus')(0x0c)(input, GAS)).toMatchObject({ failed: true })
    }
  })

  it('pairing', async () => {
    const random = new Random(SEED + 0x0f)
    const make = () => {
      const pairs = many(random, 1, 1, 2, 5).flatMap(() => [g1(random), g2(random)])
      if (random.chance(0.5)) {
        const quiet = new Random(random.below(2 ** 30))
        quiet.chance = () => false
        const [a, b] = [g1(quiet), g2(quiet)]
        const opposite = concatBytes(a.subarray(0, 64), element(p - BigInt(toHex(a.subarray(64)))))
        return concatBytes(a, b, opposite, b)
      }
      return concatBytes(...pairs)
    }
    const few = [...withDamage(random, make)].slice(0, RUNS)
    expect(await compare(prague(0x0f), ours('isthmus')(0x0f), few)).toBeGreaterThan(RUNS / 12)
  })

  it('computes the longest inputs that Isthmus allows', async () => {
    const point = encodeG1(G1.Point.BASE.toAffine())
    const scalar = bigIntToBytes(r - 5n, 32)
    const count = 3211
    const input = new Uint8Array(count * 160)
    for (let index = 0; index < count; index++) input.set(concatBytes(point, scalar), index * 160)
    const { x, y } = G1.Point.BASE.multiply(r - 5n * BigInt(count)).toAffine()
    expect(await ours('isthmus')(0x0c)(input, GAS)).toMatchObject({ output: toHex(encodeG1({ x, y })), failed: false })
  })
})
