import { G1_DISCOUNTS, G2_DISCOUNTS, msmGas } from './blsGas.ts'
import { CurveGroup } from './curveGroup.ts'
import { isZero, Lazy, Mcl, SIZES } from './mcl.ts'
import { Pairing } from './pairing.ts'
import { flagWord, oneStep, type Precompile, type PrecompileRun } from './precompile.ts'

// EIP-2537: arithmetic on BLS12-381. A field element has 64 bytes, of which the first 16 are zero.

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
/** 3 ms. More pairs in one step are not faster. */
const PAIRS_PER_STEP = 2
/** 6 ms in G2. More points in one step are not faster. */
const POINTS_PER_STEP = 8

/** An mcl instance with this curve, and its reserved memory. */
export const bls12381 = new Lazy(async () => {
  const mcl = await Mcl.load('bls12-381')
  const g1 = new CurveGroup(mcl, 'G1', POINTS_PER_STEP)
  const g2 = new CurveGroup(mcl, 'G2', POINTS_PER_STEP)
  return { mcl, g1, g2, pairing: new Pairing(g1, g2), scalars: mcl.reserve(POINTS_PER_STEP * SIZES.scalar) }
})

/** Writes a point of the curve, of any order, into the group's memory. False if it is invalid. */
function put(group: CurveGroup, index: number, input: Uint8Array, offset: number): boolean {
  const elements = readElements(input, offset, group.elements)
  return elements !== undefined && group.put(index, elements)
}

/** Reads `count` field elements of 48 bytes. Undefined if a padding is not zero. */
function readElements(input: Uint8Array, offset: number, count: number): Uint8Array[] | undefined {
  const elements: Uint8Array[] = []
  for (let at = offset; elements.length < count; at += FIELD_BYTES) {
    if (!isZero(input.subarray(at, at + PADDING_BYTES))) return undefined
    elements.push(input.subarray(at + PADDING_BYTES, at + FIELD_BYTES))
  }
  return elements
}

/** Sum of two points of the curve, of any order. */
function addition(name: 'g1' | 'g2', pointBytes: number, gas: bigint): Precompile {
  return {
    gas: () => gas,
    load: bls12381.load,
    run: oneStep((input) => {
      if (input.length !== 2 * pointBytes) return undefined
      const group = bls12381.value[name]
      if (!put(group, 0, input, 0) || !put(group, 1, input, pointBytes)) return undefined
      group.addTwo()
      return group.take(FIELD_BYTES)
    }),
  }
}

export const blsG1Add = addition('g1', G1_BYTES, G1_ADD_GAS)
export const blsG2Add = addition('g2', G2_BYTES, G2_ADD_GAS)

/** Sum of multiples of points. */
export function blsG1Msm(maxInputBytes: number): Precompile {
  return {
    gas: (input) => msmGas(input.length, G1_BYTES + SCALAR_BYTES, G1_MUL_GAS, G1_DISCOUNTS),
    maxInputBytes,
    load: bls12381.load,
    run: (input) => sumOfMultiples('g1', input, G1_BYTES),
  }
}

export function blsG2Msm(maxInputBytes: number): Precompile {
  return {
    gas: (input) => msmGas(input.length, G2_BYTES + SCALAR_BYTES, G2_MUL_GAS, G2_DISCOUNTS),
    maxInputBytes,
    load: bls12381.load,
    run: (input) => sumOfMultiples('g2', input, G2_BYTES),
  }
}

function* sumOfMultiples(name: 'g1' | 'g2', input: Uint8Array, pointBytes: number): PrecompileRun {
  const itemBytes = pointBytes + SCALAR_BYTES
  if (input.length % itemBytes !== 0) return undefined
  const { [name]: group, mcl, scalars } = bls12381.value
  /** Sum of the earlier steps. */
  let sum: Uint8Array | undefined
  for (let offset = 0; offset < input.length; offset += POINTS_PER_STEP * itemBytes) {
    if (offset > 0) yield
    const count = Math.min(POINTS_PER_STEP, (input.length - offset) / itemBytes)
    for (let index = 0; index < count; index++) {
      const at = offset + index * itemBytes
      if (!put(group, index, input, at) || !group.isInGroup(index)) return undefined
      mcl.putScalarModulo(scalars + index * SIZES.scalar, input.subarray(at + pointBytes, at + itemBytes))
    }
    sum = group.addMultiples(scalars, count, sum)
  }
  return group.take(FIELD_BYTES)
}

/** Whether the product of the pairings is one. */
export function blsPairing(maxInputBytes: number): Precompile {
  return {
    gas: (input) =>
      input.length === 0 || input.length % PAIR_BYTES !== 0
        ? undefined
        : PAIRING_GAS + PAIR_GAS * BigInt(input.length / PAIR_BYTES),
    maxInputBytes,
    load: bls12381.load,
    run: pairing,
  }
}

function* pairing(input: Uint8Array): PrecompileRun {
  const bls = bls12381.value
  const { g1, g2 } = bls
  const isOne = yield* bls.pairing.isProductOne(input.length / PAIR_BYTES, PAIRS_PER_STEP, (index, pair) => {
    const at = pair * PAIR_BYTES
    if (!put(g1, index, input, at) || !g1.isInGroup(index)) return false
    return put(g2, index, input, at + G1_BYTES) && g2.isInGroup(index)
  })
  return isOne === undefined ? undefined : flagWord(isOne)
}

export const blsMapToG1: Precompile = {
  gas: () => MAP_TO_G1_GAS,
  load: bls12381.load,
  run: oneStep((input) => {
    if (input.length !== FIELD_BYTES) return undefined
    const { mcl, g1 } = bls12381.value
    const [value] = readElements(input, 0, 1) ?? []
    if (value === undefined || !mcl.putField(g1.points, value)) return undefined
    return mcl.raw.mclBnFp_mapToG1(g1.result, g1.points) === 0 ? g1.take(FIELD_BYTES) : undefined
  }),
}

export const blsMapToG2: Precompile = {
  gas: () => MAP_TO_G2_GAS,
  load: bls12381.load,
  run: oneStep((input) => {
    if (input.length !== 2 * FIELD_BYTES) return undefined
    const { mcl, g2 } = bls12381.value
    const [real, imaginary] = readElements(input, 0, 2) ?? []
    if (real === undefined || imaginary === undefined) return undefined
    if (!mcl.putField(g2.points, real) || !mcl.putField(g2.points + SIZES.field, imaginary)) return undefined
    return mcl.raw.mclBnFp2_mapToG2(g2.result, g2.points) === 0 ? g2.take(FIELD_BYTES) : undefined
  }),
}
