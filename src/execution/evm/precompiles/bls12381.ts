import { G1_DISCOUNTS, G2_DISCOUNTS, msmGas } from './blsGas.ts'
import { isZero, lazily, Mcl, SIZES } from './mcl.ts'
import { flagWord, type Precompile, type Steps } from './precompile.ts'

// EIP-2537: arithmetic on BLS12-381. Field elements stand in 64 bytes, of which the first 16 are zero.

const G1_ADD_GAS = 375n
const G1_MUL_GAS = 12_000n
const G2_ADD_GAS = 600n
const G2_MUL_GAS = 22_500n
const PAIRING_GAS = 37_700n
const PAIR_GAS = 32_600n
const MAP_TO_G1_GAS = 5_500n
const MAP_TO_G2_GAS = 23_800n

const FIELD_BYTES = 64
const PADDING_BYTES = 16
const G1_BYTES = 2 * FIELD_BYTES
const G2_BYTES = 4 * FIELD_BYTES
const SCALAR_BYTES = 32
const PAIR_BYTES = G1_BYTES + G2_BYTES
/** 5 ms. */
const PAIRS_PER_STEP = 4
/** 8 ms. */
const POINTS_PER_STEP = 32

/** mcl with this curve, and where its numbers lie. */
export class Bls12381 {
  readonly mcl: Mcl
  readonly g1: number
  readonly g2: number
  readonly scalars: number
  readonly sumG1: number
  readonly sumG2: number
  readonly product: number
  readonly factor: number

  constructor(mcl: Mcl) {
    this.mcl = mcl
    this.g1 = mcl.reserve(POINTS_PER_STEP * SIZES.g1)
    this.g2 = mcl.reserve(POINTS_PER_STEP * SIZES.g2)
    this.scalars = mcl.reserve(POINTS_PER_STEP * SIZES.scalar)
    this.sumG1 = mcl.reserve(SIZES.g1)
    this.sumG2 = mcl.reserve(SIZES.g2)
    this.product = mcl.reserve(SIZES.gt)
    this.factor = mcl.reserve(SIZES.gt)
  }

  putG1(index: number, input: Uint8Array, offset: number): boolean {
    const [x, y] = [element(input, offset), element(input, offset + FIELD_BYTES)]
    return x !== undefined && y !== undefined && this.mcl.putG1(this.g1 + index * SIZES.g1, x, y)
  }

  putG2(index: number, input: Uint8Array, offset: number): boolean {
    const [x0, x1] = [element(input, offset), element(input, offset + FIELD_BYTES)]
    const [y0, y1] = [element(input, offset + 2 * FIELD_BYTES), element(input, offset + 3 * FIELD_BYTES)]
    if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined) return false
    return this.mcl.putG2(this.g2 + index * SIZES.g2, x0, x1, y0, y1)
  }

  /** Whether the point that was put is of the right order. */
  isInG1(index: number): boolean {
    const at = this.g1 + index * SIZES.g1
    return this.mcl.raw._mclBnG1_isZero(at) === 1 || this.mcl.raw._mclBnG1_isValidOrder(at) === 1
  }

  isInG2(index: number): boolean {
    const at = this.g2 + index * SIZES.g2
    return this.mcl.raw._mclBnG2_isZero(at) === 1 || this.mcl.raw._mclBnG2_isValidOrder(at) === 1
  }

  takeG1(): Uint8Array {
    const { mcl, sumG1 } = this
    const output = new Uint8Array(G1_BYTES)
    if (mcl.raw._mclBnG1_isZero(sumG1) === 1) return output
    mcl.raw._mclBnG1_normalize(sumG1, sumG1)
    for (const index of [0, 1]) mcl.takeField(sumG1 + index * SIZES.field, output, index * FIELD_BYTES + PADDING_BYTES)
    return output
  }

  takeG2(): Uint8Array {
    const { mcl, sumG2 } = this
    const output = new Uint8Array(G2_BYTES)
    if (mcl.raw._mclBnG2_isZero(sumG2) === 1) return output
    mcl.raw._mclBnG2_normalize(sumG2, sumG2)
    for (const index of [0, 1, 2, 3]) {
      mcl.takeField(sumG2 + index * SIZES.field, output, index * FIELD_BYTES + PADDING_BYTES)
    }
    return output
  }
}

/** The 48 bytes of a field element; undefined where the padding is not zero. */
function element(input: Uint8Array, offset: number): Uint8Array | undefined {
  if (!isZero(input.subarray(offset, offset + PADDING_BYTES))) return undefined
  return input.subarray(offset + PADDING_BYTES, offset + FIELD_BYTES)
}

export const bls12381 = lazily(async () => new Bls12381(await Mcl.load('bls12-381')))

const load = () => (bls12381.ready() === undefined ? bls12381.load() : undefined)

function loaded(): Bls12381 {
  const bls = bls12381.ready()
  if (bls === undefined) throw new Error('BLS12-381 is used before it was loaded')
  return bls
}

/** Sum of two points of the curve, of whatever order. */
export const blsG1Add: Precompile = {
  gas: () => G1_ADD_GAS,
  load,
  // biome-ignore lint/correctness/useYield: one short step
  *run(input) {
    if (input.length !== 2 * G1_BYTES) return undefined
    const bls = loaded()
    if (!bls.putG1(0, input, 0) || !bls.putG1(1, input, G1_BYTES)) return undefined
    bls.mcl.raw._mclBnG1_add(bls.sumG1, bls.g1, bls.g1 + SIZES.g1)
    return bls.takeG1()
  },
}

export const blsG2Add: Precompile = {
  gas: () => G2_ADD_GAS,
  load,
  // biome-ignore lint/correctness/useYield: one short step
  *run(input) {
    if (input.length !== 2 * G2_BYTES) return undefined
    const bls = loaded()
    if (!bls.putG2(0, input, 0) || !bls.putG2(1, input, G2_BYTES)) return undefined
    bls.mcl.raw._mclBnG2_add(bls.sumG2, bls.g2, bls.g2 + SIZES.g2)
    return bls.takeG2()
  },
}

/** Sum of multiples of points. */
export function blsG1Msm(maxInputBytes: number): Precompile {
  const itemBytes = G1_BYTES + SCALAR_BYTES
  return {
    gas: (input) => msmGas(input.length, itemBytes, G1_MUL_GAS, G1_DISCOUNTS),
    maxInputBytes,
    load,
    *run(input) {
      if (input.length % itemBytes !== 0) return undefined
      const bls = loaded()
      const { raw } = bls.mcl
      const sum = yield* sumOfSteps(bls, input, itemBytes, {
        size: SIZES.g1,
        sum: bls.sumG1,
        first: bls.g1,
        put: (index, offset) => bls.putG1(index, input, offset) && bls.isInG1(index),
        multiply: (count) => raw._mclBnG1_mulVec(bls.sumG1, bls.g1, bls.scalars, count),
        add: () => raw._mclBnG1_add(bls.sumG1, bls.sumG1, bls.g1),
      })
      return sum ? bls.takeG1() : undefined
    },
  }
}

export function blsG2Msm(maxInputBytes: number): Precompile {
  const itemBytes = G2_BYTES + SCALAR_BYTES
  return {
    gas: (input) => msmGas(input.length, itemBytes, G2_MUL_GAS, G2_DISCOUNTS),
    maxInputBytes,
    load,
    *run(input) {
      if (input.length % itemBytes !== 0) return undefined
      const bls = loaded()
      const { raw } = bls.mcl
      const sum = yield* sumOfSteps(bls, input, itemBytes, {
        size: SIZES.g2,
        sum: bls.sumG2,
        first: bls.g2,
        put: (index, offset) => bls.putG2(index, input, offset) && bls.isInG2(index),
        multiply: (count) => raw._mclBnG2_mulVec(bls.sumG2, bls.g2, bls.scalars, count),
        add: () => raw._mclBnG2_add(bls.sumG2, bls.sumG2, bls.g2),
      })
      return sum ? bls.takeG2() : undefined
    },
  }
}

/** What a sum of multiples needs of a group. Addresses in mcl's memory. */
interface Group {
  /** Bytes of a point. */
  size: number
  sum: number
  /** The first of the points that `multiply` takes. */
  first: number
  put(index: number, offset: number): boolean
  multiply(count: number): void
  /** The first point to the sum. */
  add(): void
}

/** False when a point is no good. */
function* sumOfSteps(
  bls: Bls12381,
  input: Uint8Array,
  itemBytes: number,
  group: Group,
): Generator<undefined, boolean, undefined> {
  /** Of the steps before. */
  let before: Uint8Array | undefined
  for (let offset = 0; offset < input.length; offset += POINTS_PER_STEP * itemBytes) {
    if (offset > 0) yield
    const count = Math.min(POINTS_PER_STEP, (input.length - offset) / itemBytes)
    for (let index = 0; index < count; index++) {
      const at = offset + index * itemBytes
      if (!group.put(index, at)) return false
      const scalar = input.subarray(at + itemBytes - SCALAR_BYTES, at + itemBytes)
      bls.mcl.putScalarModulo(bls.scalars + index * SIZES.scalar, scalar)
    }
    group.multiply(count)
    if (before !== undefined) {
      bls.mcl.memory().set(before, group.first)
      group.add()
    }
    before = bls.mcl.memory().slice(group.sum, group.sum + group.size)
  }
  return true
}

/** Whether the product of the pairings is one. */
export function blsPairing(maxInputBytes: number): Precompile {
  return {
    gas: (input) =>
      input.length === 0 || input.length % PAIR_BYTES !== 0
        ? undefined
        : PAIRING_GAS + PAIR_GAS * BigInt(input.length / PAIR_BYTES),
    maxInputBytes,
    load,
    run: pairing,
  }
}

function* pairing(input: Uint8Array): Steps {
  const bls = loaded()
  const { raw } = bls.mcl
  /** Kept here from step to step. */
  let product: Uint8Array | undefined
  for (let offset = 0; offset < input.length; offset += PAIRS_PER_STEP * PAIR_BYTES) {
    if (offset > 0) yield
    const count = Math.min(PAIRS_PER_STEP, (input.length - offset) / PAIR_BYTES)
    for (let index = 0; index < count; index++) {
      const at = offset + index * PAIR_BYTES
      if (!bls.putG1(index, input, at) || !bls.isInG1(index)) return undefined
      if (!bls.putG2(index, input, at + G1_BYTES) || !bls.isInG2(index)) return undefined
    }
    raw._mclBn_millerLoopVec(bls.factor, bls.g1, bls.g2, count)
    if (product === undefined) bls.mcl.memory().copyWithin(bls.product, bls.factor, bls.factor + SIZES.gt)
    else {
      bls.mcl.memory().set(product, bls.product)
      raw._mclBnGT_mul(bls.product, bls.product, bls.factor)
    }
    product = bls.mcl.memory().slice(bls.product, bls.product + SIZES.gt)
  }
  raw._mclBn_finalExp(bls.product, bls.product)
  return flagWord(raw._mclBnGT_isOne(bls.product) === 1)
}

export const blsMapToG1: Precompile = {
  gas: () => MAP_TO_G1_GAS,
  load,
  // biome-ignore lint/correctness/useYield: one short step
  *run(input) {
    if (input.length !== FIELD_BYTES) return undefined
    const bls = loaded()
    const value = element(input, 0)
    if (value === undefined || !bls.mcl.putField(bls.g1, value)) return undefined
    if (bls.mcl.raw._mclBnFp_mapToG1(bls.sumG1, bls.g1) !== 0) return undefined
    return bls.takeG1()
  },
}

export const blsMapToG2: Precompile = {
  gas: () => MAP_TO_G2_GAS,
  load,
  // biome-ignore lint/correctness/useYield: one short step
  *run(input) {
    if (input.length !== 2 * FIELD_BYTES) return undefined
    const bls = loaded()
    const [real, imaginary] = [element(input, 0), element(input, FIELD_BYTES)]
    if (real === undefined || imaginary === undefined) return undefined
    if (!bls.mcl.putField(bls.g2, real) || !bls.mcl.putField(bls.g2 + SIZES.field, imaginary)) return undefined
    if (bls.mcl.raw._mclBnFp2_mapToG2(bls.sumG2, bls.g2) !== 0) return undefined
    return bls.takeG2()
  },
}
