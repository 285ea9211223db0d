import { generateKeyPairSync, randomInt, sign } from 'node:crypto'
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM, NobleBN254 } from '@ethereumjs/evm'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { p256 } from '@noble/curves/nist.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { sha256 } from '../../../lib/hash.ts'
import { toHex } from '../../../lib/hex.ts'
import { rulesAt } from '../../chain/chainConfig.ts'
import { precompileAddress, precompilesUnder } from './index.ts'
import { kzgLibrary, pointEvaluation } from './pointEvaluation.ts'
import { callPrecompile } from './precompile.ts'

// Each precompile on random and on awkward inputs, against EthereumJS and noble. The same again:
// DEVIUM_PRECOMPILE_SEED=<number>; more of it: DEVIUM_PRECOMPILE_RUNS=<number>.

const SEED = Number(process.env.DEVIUM_PRECOMPILE_SEED ?? randomInt(2 ** 31))
const RUNS = Number(process.env.DEVIUM_PRECOMPILE_RUNS ?? 40)

/** Random numbers that a seed decides (mulberry32). */
class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed
  }

  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  chance(share: number): boolean {
    return this.below(1000) < share * 1000
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256))
  }

  pick<T>(...values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0]
  }
}

type Run = (data: Uint8Array, gasLimit: bigint) => Promise<{ output: string; gasUsed: bigint; failed: boolean }>

const GAS = 2n ** 40n
/** Where a damaged length or number of rounds would be paid for else. */
const LITTLE_GAS = 2n ** 20n

async function references(hardfork: Hardfork): Promise<(number: number) => Run> {
  const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork }), bn254: new NobleBN254() })
  return (number) => async (data, gasLimit) => {
    const run = evm.precompiles.get(number.toString(16).padStart(40, '0'))
    if (run === undefined) throw new Error(`no precompile ${number}`)
    return shown(await run({ data, gasLimit, common: evm.common, _EVM: evm }))
  }
}

function ours(fork: 'isthmus' | 'karst'): (number: number) => Run {
  const table = precompilesUnder(rulesAt({ forks: { [fork]: 0 } }, 0))
  return (number) => async (data, gasLimit) => {
    const precompile = table.get(precompileAddress(number))
    if (precompile === undefined) throw new Error(`no precompile ${number}`)
    const result = await callPrecompile(precompile, data, Number(gasLimit), async () => {})
    if (result === undefined) return { output: '0x', gasUsed: gasLimit, failed: true }
    return { output: toHex(result.output), gasUsed: BigInt(result.gasUsed), failed: false }
  }
}

function shown({
  returnValue,
  executionGasUsed,
  exceptionError,
}: {
  returnValue: Uint8Array
  executionGasUsed: bigint
  exceptionError?: unknown
}) {
  return { output: toHex(returnValue), gasUsed: executionGasUsed, failed: exceptionError !== undefined }
}

let prague: (number: number) => Run
let osaka: (number: number) => Run
beforeAll(async () => {
  prague = await references(Hardfork.Prague)
  osaka = await references(Hardfork.Osaka)
})

/** Counts how many succeeded: inputs that are all refused would show nothing. */
async function compare(theirs: Run, mine: Run, inputs: Iterable<Uint8Array>, gasLimit = GAS): Promise<number> {
  let succeeded = 0
  for (const input of inputs) {
    const expected = await theirs(input, gasLimit)
    expect({ input: toHex(input), ...(await mine(input, gasLimit)) }).toEqual({ input: toHex(input), ...expected })
    if (!expected.failed && expected.output !== '0x') succeeded++
  }
  return succeeded
}

/** What may be wrong with any input: a changed bit, another length. */
function damaged(random: Random, input: Uint8Array): Uint8Array {
  const kind = random.below(4)
  if (kind === 0) return input.subarray(0, Math.max(0, input.length - 1 - random.below(40)))
  if (kind === 1) return concatBytes(input, random.bytes(1 + random.below(40)))
  if (input.length === 0) return input
  const at = random.below(input.length)
  return input.map((byte, index) => (index === at ? byte ^ (1 << random.below(8)) : byte))
}

function* withDamage(random: Random, make: () => Uint8Array): Generator<Uint8Array> {
  for (let run = 0; run < RUNS; run++) {
    const input = make()
    yield input
    yield damaged(random, input)
  }
  yield EMPTY_BYTES
}

/** A scalar of 32 bytes: any, and those around 0 and the group's order. */
function scalarOf(random: Random, order: bigint): Uint8Array {
  if (random.chance(0.5)) return random.bytes(32)
  const value = random.pick(0n, 1n, 2n, order - 1n, order, order + 1n, 2n * order, 2n ** 256n - 1n)
  return bigIntToBytes(value, 32)
}

describe(`bn254 (seed ${SEED})`, () => {
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
        // No square.
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

  it('pairing', { timeout: 60_000 }, async () => {
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

describe(`BLS12-381 (seed ${SEED})`, () => {
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
  /** On the curve, but in all likelihood not of the group's order. */
  function strayG1(random: Random): Uint8Array {
    for (;;) {
      const x = BigInt(random.below(2 ** 30))
      try {
        return encodeG1({ x, y: fields.Fp.sqrt(fields.Fp.create(x ** 3n + 4n)) })
      } catch {
        // No square.
      }
    }
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
        // No square.
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
  ])('$id', { timeout: 60_000 }, async ({ number, make }) => {
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
  ])('sums of multiples in $id', { timeout: 120_000 }, async ({ number, point }) => {
    const random = new Random(SEED + number)
    const make = () => {
      const quiet = new Random(random.below(2 ** 30))
      // Long sums are of good points, or hardly any would come out.
      const items = many(random, 1, 1, 1, 2, 5, 40)
      if (items.length > 5) quiet.chance = () => false
      return concatBytes(...items.flatMap(() => [point(quiet), scalarOf(random, r)]))
    }
    const few = [...withDamage(random, make)].slice(0, RUNS)
    expect(await compare(prague(number), ours('isthmus')(number), few)).toBeGreaterThan(RUNS / 12)
  })

  it('pairing', { timeout: 120_000 }, async () => {
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

  it('the longest inputs of Isthmus', { timeout: 120_000 }, async () => {
    const point = encodeG1(G1.Point.BASE.toAffine())
    const scalar = bigIntToBytes(r - 5n, 32)
    const count = 3211
    const input = new Uint8Array(count * 160)
    for (let index = 0; index < count; index++) input.set(concatBytes(point, scalar), index * 160)
    const { x, y } = G1.Point.BASE.multiply(r - 5n * BigInt(count)).toAffine()
    expect(await ours('isthmus')(0x0c)(input, GAS)).toMatchObject({ output: toHex(encodeG1({ x, y })), failed: false })
  })
})

describe(`point evaluation (seed ${SEED})`, () => {
  const { G1, G2, fields } = bls12_381
  // Second G2 power of the trusted setup (consensus-specs, trusted_setup_4096.json).
  const TAU =
    'b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2'
  // Second G1 power of it, from the same file.
  const TAU_G1 = 'ad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81'
  const zero = G1.Point.ZERO
  const times = (point: typeof zero, scalar: bigint) => (scalar === 0n ? zero : point.multiply(scalar))
  const compressed = (point: typeof zero) => point.toBytes(true)

  /** By noble: e(C - y G1, G2) = e(proof, (tau - z) G2). */
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

  /** Here, and in the other process where it takes the input. */
  async function fails(input: Uint8Array): Promise<{ here: boolean; elsewhere: boolean }> {
    await pointEvaluation.load?.()
    await kzgLibrary.load()
    const here = pointEvaluation.run(input).next().value === undefined
    const answer = pointEvaluation.runElsewhere?.(input)
    return { here, elsewhere: answer === undefined ? here : (await answer) === undefined }
  }

  it('holds where noble says so', { timeout: 120_000 }, async () => {
    const random = new Random(SEED + 0x0a)
    const scalar = () => fields.Fr.create(BigInt(toHex(random.bytes(32))))
    /** Of p(x) = a + b x: the proof at any point is b G1. */
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

  it('takes a point in its one form only', async () => {
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

describe(`P256VERIFY (seed ${SEED})`, () => {
  const n = p256.Point.Fn.ORDER
  const { p } = p256.Point.CURVE()
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const key = concatBytes(Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url'))

  it('accepts what EthereumJS accepts', { timeout: 60_000 }, async () => {
    const random = new Random(SEED + 0x100)
    const make = () => {
      const message = random.bytes(20)
      const signature = sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      const input = concatBytes(sha256(message), signature, key)
      if (random.chance(0.6)) return input
      // One of the five words is another one.
      const value = random.pick(0n, 1n, n - 1n, n, n + 1n, p - 1n, p, p + 1n, 2n ** 256n - 1n)
      const at = random.below(5) * 32
      return concatBytes(input.subarray(0, at), bigIntToBytes(value, 32), input.subarray(at + 32))
    }
    expect(await compare(osaka(0x100), ours('karst')(0x100), withDamage(random, make))).toBeGreaterThan(RUNS / 8)
  })

  it('of a hash of zero, and with sums that are no addition of two different points', async () => {
    // With the private key 1 the key is the generator; s = r k^-1 e^-1 ... are chosen for u1 and u2.
    const G = p256.Point.BASE
    const inputs: Uint8Array[] = []
    for (const [u1, u2, d] of [
      [0n, 5n, 3n],
      [7n, 7n, 1n],
      [7n, n - 7n, 1n],
      [1n, 1n, 1n],
      [21n, 7n, 3n],
      [n - 21n, 7n, 3n],
      [5n, 9n, n - 1n],
    ] as const) {
      const total = (u1 + u2 * d) % n
      const sum = total === 0n ? undefined : G.multiply(total).toAffine().x % n
      const r = sum ?? 12345n
      const s = (r * p256.Point.Fn.inv(u2)) % n
      const hash = (u1 * s) % n
      const publicPoint = G.multiply(d).toAffine()
      const words = [hash, r, s, publicPoint.x, publicPoint.y]
      inputs.push(concatBytes(...words.map((value) => bigIntToBytes(value, 32))))
    }
    expect(await compare(osaka(0x100), ours('karst')(0x100), inputs)).toBe(inputs.length - 2)
  })
})

describe(`BLAKE2F (seed ${SEED})`, () => {
  it('mixes as EthereumJS does', async () => {
    const random = new Random(SEED + 9)
    const make = () => {
      const rounds = random.pick(0, 1, 9, 10, 11, 12, 20, 1000, random.below(300))
      return concatBytes(bigIntToBytes(BigInt(rounds), 4), random.bytes(208), Uint8Array.of(random.pick(0, 1, 2)))
    }
    const run = ours('isthmus')(9)
    expect(await compare(prague(9), run, withDamage(random, make), LITTLE_GAS)).toBeGreaterThan(RUNS / 8)
    expect(await compare(prague(9), run, withDamage(random, make), 12n)).toBeGreaterThan(RUNS / 12)
  })

  it('goes on in further steps where it was', async () => {
    const random = new Random(SEED + 10)
    const input = concatBytes(bigIntToBytes(250_003n, 4), random.bytes(208), Uint8Array.of(1))
    expect(await compare(prague(9), ours('isthmus')(9), [input])).toBe(1)
  })
})

describe(`MODEXP (seed ${SEED})`, () => {
  const word = (value: number) => bigIntToBytes(BigInt(value), 32)
  function make(random: Random, longest: number): Uint8Array {
    const length = () => random.pick(0, 1, 4, 8, 9, 31, 32, 33, random.below(longest))
    const [base, exponent, modulus] = [length(), Math.min(length(), 80), length()]
    const number = (bytes: number) => {
      const value = random.chance(0.2) ? new Uint8Array(bytes) : random.bytes(bytes)
      if (random.chance(0.1)) value.fill(0xff)
      return value
    }
    const last = number(modulus)
    // Odd, even, a power of two.
    const kind = random.below(4)
    if (modulus > 0 && kind === 0) last[modulus - 1] = (last[modulus - 1] ?? 0) | 1
    if (modulus > 0 && kind === 1) last.fill(0, Math.floor(modulus / 2))
    if (modulus > 0 && kind === 2) last.fill(0, 1)
    return concatBytes(word(base), word(exponent), word(modulus), number(base), number(exponent), last)
  }

  it.each([
    { fork: 'isthmus' as const, reference: () => prague(5) },
    { fork: 'karst' as const, reference: () => osaka(5) },
  ])('under $fork', { timeout: 60_000 }, async ({ fork, reference }) => {
    const random = new Random(SEED + 5)
    const run = ours(fork)(5)
    const inputs = function* () {
      for (let round = 0; round < 20; round++) yield* withDamage(random, () => make(random, 100))
      for (let round = 0; round < RUNS / 4; round++) yield make(random, 300)
      yield make(random, 1100)
    }
    expect(await compare(reference(), run, inputs(), LITTLE_GAS)).toBeGreaterThan(RUNS)
  })

  it('of an exponent of many steps', async () => {
    const random = new Random(SEED + 6)
    for (const modulus of [random.bytes(8), concatBytes(random.bytes(7), Uint8Array.of(0)), random.bytes(300)]) {
      const bytes = modulus.length > 100 ? 600 : 20_000
      const lengths = [word(8), word(bytes), word(modulus.length)]
      const input = concatBytes(...lengths, random.bytes(8), random.bytes(bytes), modulus)
      expect(await compare(prague(5), ours('isthmus')(5), [input])).toBe(1)
    }
  })
})
