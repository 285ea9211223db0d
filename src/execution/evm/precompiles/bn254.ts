import { lazily, Mcl, SIZES } from './mcl.ts'
import { flagWord, type Precompile, padded, type Steps } from './precompile.ts'

/** EIP-1108. */
const ADD_GAS = 150n
const MUL_GAS = 6_000n
const PAIRING_GAS = 45_000n
const PAIR_GAS = 34_000n

const POINT_BYTES = 64
const PAIR_BYTES = 192
/** 4 ms. */
const PAIRS_PER_STEP = 8

/** mcl with this curve, and where its numbers lie. */
class Bn254 {
  readonly mcl: Mcl
  readonly points: number
  readonly twistPoints: number
  readonly result: number
  readonly scalar: number
  readonly product: number
  readonly factor: number

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.points = mcl.reserve(PAIRS_PER_STEP * SIZES.g1)
    this.twistPoints = mcl.reserve(PAIRS_PER_STEP * SIZES.g2)
    this.result = mcl.reserve(SIZES.g1)
    this.scalar = mcl.reserve(SIZES.scalar)
    this.product = mcl.reserve(SIZES.gt)
    this.factor = mcl.reserve(SIZES.gt)
  }

  /** x ‖ y. */
  putPoint(index: number, input: Uint8Array, offset: number): boolean {
    const word = (number: number) => input.subarray(offset + number * 32, offset + number * 32 + 32)
    return this.mcl.putG1(this.points + index * SIZES.g1, word(0), word(1))
  }

  /** Imaginary part before the real one (EIP-197), and of the right order. */
  putTwistPoint(index: number, input: Uint8Array, offset: number): boolean {
    const at = this.twistPoints + index * SIZES.g2
    const word = (number: number) => input.subarray(offset + number * 32, offset + number * 32 + 32)
    if (!this.mcl.putG2(at, word(1), word(0), word(3), word(2))) return false
    const { raw } = this.mcl
    return raw._mclBnG2_isZero(at) === 1 || raw._mclBnG2_isValidOrder(at) === 1
  }

  takeResult(): Uint8Array {
    const { mcl, result } = this
    const output = new Uint8Array(POINT_BYTES)
    if (mcl.raw._mclBnG1_isZero(result) === 1) return output
    mcl.raw._mclBnG1_normalize(result, result)
    mcl.takeField(result, output, 0)
    mcl.takeField(result + SIZES.field, output, 32)
    return output
  }
}

const curve = lazily(async () => new Bn254(await Mcl.load('bn254')))

const load = () => (curve.ready() === undefined ? curve.load() : undefined)

function loaded(): Bn254 {
  const bn254 = curve.ready()
  if (bn254 === undefined) throw new Error('bn254 is used before it was loaded')
  return bn254
}

/** EIP-196: the sum of two points. */
export const bn254Add: Precompile = {
  gas: () => ADD_GAS,
  load,
  // biome-ignore lint/correctness/useYield: one short step
  *run(data) {
    const bn254 = loaded()
    const input = padded(data, 2 * POINT_BYTES)
    if (!bn254.putPoint(0, input, 0) || !bn254.putPoint(1, input, POINT_BYTES)) return undefined
    bn254.mcl.raw._mclBnG1_add(bn254.result, bn254.points, bn254.points + SIZES.g1)
    return bn254.takeResult()
  },
}

/** EIP-196: a multiple of a point, by any number of 256 bits. */
export const bn254Mul: Precompile = {
  gas: () => MUL_GAS,
  load,
  // biome-ignore lint/correctness/useYield: one short step
  *run(data) {
    const bn254 = loaded()
    const input = padded(data, POINT_BYTES + 32)
    if (!bn254.putPoint(0, input, 0)) return undefined
    bn254.mcl.putScalarModulo(bn254.scalar, input.subarray(POINT_BYTES, POINT_BYTES + 32))
    bn254.mcl.raw._mclBnG1_mul(bn254.result, bn254.points, bn254.scalar)
    return bn254.takeResult()
  },
}

/** EIP-197: whether the product of the pairings is one. */
export function bn254Pairing(maxInputBytes: number): Precompile {
  return {
    gas: (input) => PAIRING_GAS + PAIR_GAS * BigInt(Math.floor(input.length / PAIR_BYTES)),
    maxInputBytes,
    load,
    run: pairing,
  }
}

function* pairing(input: Uint8Array): Steps {
  if (input.length % PAIR_BYTES !== 0) return undefined
  if (input.length === 0) return flagWord(true)
  const bn254 = loaded()
  const { raw } = bn254.mcl
  /** Kept here from step to step. */
  let product: Uint8Array | undefined
  for (let offset = 0; offset < input.length; offset += PAIRS_PER_STEP * PAIR_BYTES) {
    if (offset > 0) yield
    const count = Math.min(PAIRS_PER_STEP, (input.length - offset) / PAIR_BYTES)
    for (let index = 0; index < count; index++) {
      const at = offset + index * PAIR_BYTES
      if (!bn254.putPoint(index, input, at) || !bn254.putTwistPoint(index, input, at + POINT_BYTES)) return undefined
    }
    raw._mclBn_millerLoopVec(bn254.factor, bn254.points, bn254.twistPoints, count)
    if (product === undefined) bn254.mcl.memory().copyWithin(bn254.product, bn254.factor, bn254.factor + SIZES.gt)
    else {
      bn254.mcl.memory().set(product, bn254.product)
      raw._mclBnGT_mul(bn254.product, bn254.product, bn254.factor)
    }
    product = bn254.mcl.memory().slice(bn254.product, bn254.product + SIZES.gt)
  }
  raw._mclBn_finalExp(bn254.product, bn254.product)
  return flagWord(raw._mclBnGT_isOne(bn254.product) === 1)
}
