import { bls12_381 } from '@noble/curves/bls12-381.js'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { sha256 } from '../../../lib/hash.ts'
import { toHex } from '../../../lib/hex.ts'
import { kzgLibrary, pointEvaluation } from './pointEvaluation.ts'
import { Random, RUNS, SEED, TIME_LIMIT_MS, withDamage } from './testUtils/differential.ts'

describe(`point evaluation (seed ${SEED})`, { timeout: TIME_LIMIT_MS }, () => {
  const { G1, G2, fields } = bls12_381
  // Second G2 power of the trusted setup (consensus-specs, trusted_setup_4096.json).
  const TAU =
    'b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2'
  // Second G1 power of the trusted setup, from the same file.
  const TAU_G1 = 'ad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81'
  const zero = G1.Point.ZERO
  const times = (point: typeof zero, scalar: bigint) => (scalar === 0n ? zero : point.multiply(scalar))
  const compressed = (point: typeof zero) => point.toBytes(true)

  /** With noble: e(C - y G1, G2) = e(proof, (tau - z) G2). */
  function holds(input: Uint8Array): boolean {
    if (input.length !== 192) return false
    const [z, y] = [BigInt(toHex(input.subarray(32, 64))), BigInt(toHex(input.subarray(64, 96)))]
    const commitment = input.subarray(96, 144)
    if (toHex(sha256(commitment).subarray(1)) !== toHex(input.subarray(1, 32)) || input[0] !== 1) return false
    if (z >= fields.Fr.ORDER || y >= fields.Fr.ORDER) return false
    try {
      const [c, proof] = [commitment, input.subarray(144)].map((bytes) => {
        const point = G1.Point.fromBytes(bytes)
        if (!point.is0()) point.assertValidity()
        return point
      })
      if (c === undefined || proof === undefined) return false
      const tau = G2.Point.fromHex(TAU)
      const left = c.subtract(times(G1.Point.BASE, y)).negate()
      const right = z === 0n ? tau : tau.subtract(G2.Point.BASE.multiply(z))
      const pairs = [
        { g1: left, g2: G2.Point.BASE },
        { g1: proof, g2: right },
      ].filter((pair) => !pair.g1.is0() && !pair.g2.is0())
      const product = pairs.length === 0 ? fields.Fp12.ONE : bls12_381.pairingBatch(pairs)
      return fields.Fp12.eql(product, fields.Fp12.ONE)
    } catch {
      return false
    }
  }

  let earlier: Uint8Array = new Uint8Array(192)

  /**
   * Runs in this process, with an earlier run between its steps, and in the other process if that accepts the input.
   */
  async function fails(input: Uint8Array): Promise<{ here: boolean; elsewhere: boolean }> {
    await pointEvaluation.load?.()
    // A busy machine may take longer to start the process than the library's time limit.
    for (let loading = kzgLibrary.load(); loading !== undefined; loading = kzgLibrary.load())
      await loading.catch(() => {})
    const steps = pointEvaluation.run(input)
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) {
      const between = pointEvaluation.run(earlier)
      while (between.next().done !== true) {}
    }
    earlier = input
    const here = step.value === undefined
    const answer = pointEvaluation.runElsewhere?.(input)
    return { here, elsewhere: answer === undefined ? here : (await answer) === undefined }
  }

  it('accepts exactly the proofs that noble accepts', async () => {
    const random = new Random(SEED + 0x0a)
    const scalar = () => fields.Fr.create(BigInt(toHex(random.bytes(32))))
    /** For p(x) = a + b x, the proof at any point is b G1. */
    const make = () => {
      const a = random.chance(0.2) ? 0n : scalar()
      const b = random.chance(0.3) ? 0n : scalar()
      const z = random.chance(0.1) ? 0n : scalar()
      const y = fields.Fr.create(a + b * z)
      const commitment = compressed(times(G1.Point.BASE, a).add(times(G1.Point.fromHex(TAU_G1), b)))
      let proof: Uint8Array = compressed(times(G1.Point.BASE, b))
      if (random.chance(0.1))
        proof = random.pick<Uint8Array>(compressed(zero), compressed(G1.Point.BASE), random.bytes(48))
      const hash = concatBytes(Uint8Array.of(1), sha256(commitment).subarray(1))
      return concatBytes(hash, bigIntToBytes(z, 32), bigIntToBytes(y, 32), commitment, proof)
    }
    let held = 0
    for (const input of [...withDamage(random, make)].slice(0, RUNS)) {
      const expected = holds(input)
      expect({ input: toHex(input), ...(await fails(input)) }).toEqual({
        input: toHex(input),
        here: !expected,
        elsewhere: !expected,
      })
      if (expected) held++
    }
    expect(held).toBeGreaterThan(RUNS / 12)
  })

  it('accepts only the canonical encoding of a point', async () => {
    const infinity = compressed(zero)
    const inputOf = (commitment: Uint8Array, proof: Uint8Array) =>
      concatBytes(Uint8Array.of(1), sha256(commitment).subarray(1), new Uint8Array(64), commitment, proof)
    expect(await fails(inputOf(infinity, infinity))).toEqual({ here: false, elsewhere: false })
    const changed = (index: number, mask: number) => infinity.map((byte, at) => (at === index ? byte ^ mask : byte))
    for (const other of [changed(0, 0x20), changed(0, 0x80), changed(0, 0x40), changed(0, 1), changed(47, 1)]) {
      expect(await fails(inputOf(infinity, other))).toEqual({ here: true, elsewhere: true })
      expect(await fails(inputOf(other, infinity))).toEqual({ here: true, elsewhere: true })
    }
  })
})
