import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'

// Packed fields of the SystemConfig (specs: ecotone, holocene, isthmus and jovian "system-config" pages).

export interface EcotoneScalars {
  /** u32 */
  baseFeeScalar: number
  /** u32 */
  blobBaseFeeScalar: number
}

const MAX_U32 = 0xffff_ffff

/**
 * Decodes the SystemConfig's scalar word. Throws DecodeError for a version other than 0 and 1. A version 0 scalar that
 * does not fit u32 becomes the maximum u32, as in op-node.
 */
export function decodeScalar(scalar: Hex): EcotoneScalars {
  const word = fromHex(scalar, 32, 'scalar')
  const view = new DataView(word.buffer, word.byteOffset, 32)
  if (word[0] === 0) {
    const fits = word.subarray(1, 28).every((byte) => byte === 0)
    return { baseFeeScalar: fits ? view.getUint32(28) : MAX_U32, blobBaseFeeScalar: 0 }
  }
  if (word[0] === 1) return { baseFeeScalar: view.getUint32(28), blobBaseFeeScalar: view.getUint32(24) }
  throw new DecodeError(`scalar: version ${word[0]} is not known`)
}

/** Encodes version 1 of the scalar word. */
export function encodeScalar({ baseFeeScalar, blobBaseFeeScalar }: EcotoneScalars): Hex {
  const word = new Uint8Array(32)
  const view = new DataView(word.buffer)
  word[0] = 1
  view.setUint32(24, blobBaseFeeScalar)
  view.setUint32(28, baseFeeScalar)
  return toHex(word)
}

export interface OperatorFeeParams {
  /** u32 */
  scalar: number
  /** u64 */
  constant: bigint
}

/** Decodes the 32-byte operator fee word; absent = both zero. */
export function decodeOperatorFeeParams(params: Hex | undefined): OperatorFeeParams {
  if (params === undefined) return { scalar: 0, constant: 0n }
  const word = fromHex(params, 32, 'operator fee params')
  const view = new DataView(word.buffer, word.byteOffset, 32)
  return { scalar: view.getUint32(20), constant: view.getBigUint64(24) }
}

export function encodeOperatorFeeParams({ scalar, constant }: OperatorFeeParams): Hex {
  const word = new Uint8Array(32)
  const view = new DataView(word.buffer)
  view.setUint32(20, scalar)
  view.setBigUint64(24, constant)
  return toHex(word)
}

export interface Eip1559Params {
  /** u32 */
  denominator: number
  /** u32 */
  elasticity: number
}

/** 8 bytes: denominator u32 ‖ elasticity u32. */
export function decodeEip1559Params(params: Hex): Eip1559Params {
  const bytes = fromHex(params, 8, 'eip1559Params')
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8)
  return { denominator: view.getUint32(0), elasticity: view.getUint32(4) }
}

export function encodeEip1559Params({ denominator, elasticity }: Eip1559Params): Hex {
  const bytes = new Uint8Array(8)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, denominator)
  view.setUint32(4, elasticity)
  return toHex(bytes)
}

/** The content of a header's extraData since Holocene. `minBaseFee` (wei) exists only since Jovian. */
export interface HeaderFeeParams extends Eip1559Params {
  minBaseFee?: bigint
}

/**
 * Decodes extraData of a Holocene or Jovian block. Throws DecodeError if length or version byte do not match the fork,
 * or if denominator or elasticity is zero.
 */
export function decodeExtraData(extraData: Hex, fork: 'holocene' | 'jovian'): HeaderFeeParams {
  const bytes = fromHex(extraData, undefined, 'extraData')
  const { length, version } = fork === 'jovian' ? { length: 17, version: 1 } : { length: 9, version: 0 }
  if (bytes.length !== length) throw new DecodeError(`${fork} extraData should be ${length} bytes, got ${bytes.length}`)
  if (bytes[0] !== version) {
    throw new DecodeError(`${fork} extraData should have ${version} version byte, got ${bytes[0]}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const params: HeaderFeeParams = { denominator: view.getUint32(1), elasticity: view.getUint32(5) }
  if (params.denominator === 0) throw new DecodeError(`${fork} extraData must encode a non-zero denominator`)
  if (params.elasticity === 0) throw new DecodeError(`${fork} extraData must encode a non-zero elasticity`)
  if (fork === 'jovian') params.minBaseFee = view.getBigUint64(9)
  return params
}

/** extraData of Holocene (9 bytes), or of Jovian (17 bytes) if `minBaseFee` is given. */
export function encodeExtraData(params: HeaderFeeParams): Hex {
  const fees = fromHex(encodeEip1559Params(params))
  if (params.minBaseFee === undefined) return toHex(concatBytes(Uint8Array.of(0), fees))
  const minBaseFee = new Uint8Array(8)
  new DataView(minBaseFee.buffer).setBigUint64(0, params.minBaseFee)
  return toHex(concatBytes(Uint8Array.of(1), fees, minBaseFee))
}
