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
const curve = new Lazy(async () => {
  const mcl = await Mcl.load('bn254')
  const g1 = new CurveGroup(mcl, 'G1', PAIRS_PER_STEP)
  const g2 = new CurveGroup(mcl, 'G2', PAIRS_PER_STEP)
  return { mcl, g1, g2, pairing: new Pairing(g1, g2), scalar: mcl.reserve(SIZES.scalar) }
})

/** x ‖ y. All points of the curve are in G1. */
function putG1(index: number, input: Uint8Array, offset: number): boolean {
  return curve.value.g1.put(index, words(input, offset, [0, 1]))
}

/** The imaginary part comes before the real part (EIP-197). Also checks the order. */
function putG2(index: number, input: Uint8Array, offset: number): boolean {
  const { g2 } = curve.value
  return g2.put(index, words(input, offset, [1, 0, 3, 2])) && g2.isInGroup(index)
}

function words(input: Uint8Array, offset: number, order: readonly number[]): Uint8Array[] {
  return order.map((at) => input.subarray(offset + at * WORD_BYTES, offset + (at + 1) * WORD_BYTES))
}

/** EIP-196: the sum of two points. */
export const bn254Add: Precompile = {
  gas: () => ADD_GAS,
  load: curve.load,
  run: oneStep((data) => {
    const { g1 } = curve.value
    const input = padded(data, 2 * POINT_BYTES)
    if (!putG1(0, input, 0) || !putG1(1, input, POINT_BYTES)) return undefined
    g1.addTwo()
    return g1.take(WORD_BYTES)
  }),
}

/** EIP-196: a multiple of a point, by any 256-bit number. */
export const bn254Mul: Precompile = {
  gas: () => MUL_GAS,
  load: curve.load,
  run: oneStep((data) => {
    const { mcl, g1, scalar } = curve.value
    const input = padded(data, POINT_BYTES + WORD_BYTES)
    if (!putG1(0, input, 0)) return undefined
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
  const { pairing: pairs } = curve.value
  const isOne = yield* pairs.isProductOne(input.length / PAIR_BYTES, PAIRS_PER_STEP, (index, pair) => {
    const at = pair * PAIR_BYTES
    return putG1(index, input, at) && putG2(index, input, at + POINT_BYTES)
  })
  return isOne === undefined ? undefined : flagWord(isOne)
}
