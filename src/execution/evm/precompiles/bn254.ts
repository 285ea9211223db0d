import { CurveGroup } from './curveGroup.ts'
import { Lazy, Mcl, SIZES } from './mcl.ts'
import { Pairing } from './pairing.ts'
import { flagWord, oneStep, type Precompile, type PrecompileRun, padded } from './precompile.ts'

/** EIP-1108. */
const ADD_GAS = 150n
const MUL_GAS = 6_000n
const PAIRING_GAS = 45_000n
const PAIR_GAS = 34_000n

const WORD_BYTES = 32
const POINT_BYTES = 64
const PAIR_BYTES = 192
/** 3 ms. More pairs in one step are not faster. */
const PAIRS_PER_STEP = 2

/** An mcl instance with this curve, and its reserved memory. */
class Bn254 {
  readonly mcl: Mcl
  readonly g1: CurveGroup
  readonly g2: CurveGroup
  readonly pairing: Pairing
  readonly scalar: number

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.g1 = new CurveGroup(mcl, 'G1', PAIRS_PER_STEP)
    this.g2 = new CurveGroup(mcl, 'G2', PAIRS_PER_STEP)
    this.pairing = new Pairing(this.g1, this.g2)
    this.scalar = mcl.reserve(SIZES.scalar)
  }

  /** x ‖ y. All points of the curve are in G1. */
  putG1(index: number, input: Uint8Array, offset: number): boolean {
    return this.g1.put(index, words(input, offset, [0, 1]))
  }

  /** The imaginary part comes before the real part (EIP-197). Also checks the order. */
  putG2(index: number, input: Uint8Array, offset: number): boolean {
    return this.g2.put(index, words(input, offset, [1, 0, 3, 2])) && this.g2.isInGroup(index)
  }
}

function words(input: Uint8Array, offset: number, order: readonly number[]): Uint8Array[] {
  return order.map((at) => input.subarray(offset + at * WORD_BYTES, offset + (at + 1) * WORD_BYTES))
}

const curve = new Lazy(async () => new Bn254(await Mcl.load('bn254')))

/** EIP-196: the sum of two points. */
export const bn254Add: Precompile = {
  gas: () => ADD_GAS,
  load: curve.load,
  run: oneStep((data) => {
    const bn254 = curve.value
    const input = padded(data, 2 * POINT_BYTES)
    if (!bn254.putG1(0, input, 0) || !bn254.putG1(1, input, POINT_BYTES)) return undefined
    bn254.g1.addTwo()
    return bn254.g1.take(WORD_BYTES)
  }),
}

/** EIP-196: a multiple of a point, by any 256-bit number. */
export const bn254Mul: Precompile = {
  gas: () => MUL_GAS,
  load: curve.load,
  run: oneStep((data) => {
    const { mcl, g1, scalar } = curve.value
    const input = padded(data, POINT_BYTES + WORD_BYTES)
    if (!g1.put(0, words(input, 0, [0, 1]))) return undefined
    mcl.putScalarModulo(scalar, input.subarray(POINT_BYTES, POINT_BYTES + WORD_BYTES))
    mcl.raw.mclBnG1_mul(g1.result, g1.points, scalar)
    return g1.take(WORD_BYTES)
  }),
}

/** EIP-197: whether the product of the pairings is one. */
export function bn254Pairing(maxInputBytes: number): Precompile {
  return {
    gas: (input) => PAIRING_GAS + PAIR_GAS * BigInt(Math.floor(input.length / PAIR_BYTES)),
    maxInputBytes,
    load: curve.load,
    run: pairing,
  }
}

function* pairing(input: Uint8Array): PrecompileRun {
  if (input.length % PAIR_BYTES !== 0) return undefined
  if (input.length === 0) return flagWord(true)
  const bn254 = curve.value
  const isOne = yield* bn254.pairing.isProductOne(input.length / PAIR_BYTES, PAIRS_PER_STEP, (index, pair) => {
    const at = pair * PAIR_BYTES
    return bn254.putG1(index, input, at) && bn254.putG2(index, input, at + POINT_BYTES)
  })
  return isOne === undefined ? undefined : flagWord(isOne)
}
