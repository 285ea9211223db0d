import { bigIntToBytes, bytesToBigInt, concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex, toSafeNumber } from '../../../lib/hex.ts'
import { isForkActivationBlock, isForkActive } from '../config/forks.ts'
import { DEPOSITOR_ACCOUNT, L1_BLOCK_ADDRESS } from '../constants.ts'
import { decodeOperatorFeeParams, decodeScalar } from '../fees/scalars.ts'
import { type DepositTx, decodeDepositTx } from '../transaction/deposit.ts'
import { l1InfoSourceHash } from '../transaction/sourceHash.ts'
import type { Fork, L1BlockInfo, RollupConfig, SystemConfig } from '../types.ts'
import { l1BlobBaseFee } from './blobFee.ts'

/** The layout of the calldata, named after its fork. */
export type L1InfoFormat = 'bedrock' | 'ecotone' | 'isthmus' | 'jovian'

/**
 * The data about the L1 origin in the first transaction of an L2 block (specs: deposits, "L1 attributes deposited
 * transaction").
 */
export interface L1Info {
  format: L1InfoFormat
  number: number
  timestamp: number
  /** Wei. */
  baseFee: bigint
  blockHash: Hex
  sequenceNumber: number
  batcherAddress: Hex
  /** Wei; 0 before Ecotone. */
  blobBaseFee: bigint
  /** u32; 0 before Ecotone. */
  baseFeeScalar: number
  /** u32; 0 before Ecotone. */
  blobBaseFeeScalar: number
  /** Only before Ecotone. */
  overhead?: bigint
  /** Only before Ecotone. */
  scalar?: bigint
  /** u32, since Isthmus. */
  operatorFeeScalar?: number
  /** u64, since Isthmus. */
  operatorFeeConstant?: bigint
  /** u16, since Jovian. */
  daFootprintGasScalar?: number
}

const FORMATS: Record<L1InfoFormat, { selector: Hex; length: number }> = {
  bedrock: { selector: '0x015d8eb9', length: 260 },
  ecotone: { selector: '0x440a5e20', length: 164 },
  isthmus: { selector: '0x098999be', length: 176 },
  jovian: { selector: '0x3db6be2b', length: 178 },
}
const FORMAT_OF_SELECTOR = new Map<Hex, L1InfoFormat>([
  [FORMATS.bedrock.selector, 'bedrock'],
  [FORMATS.ecotone.selector, 'ecotone'],
  [FORMATS.isthmus.selector, 'isthmus'],
  [FORMATS.jovian.selector, 'jovian'],
])

/** Replaces a configured DA footprint scalar of 0 (specs: jovian/l1-attributes). */
const DEFAULT_DA_FOOTPRINT_GAS_SCALAR = 400
const PRE_REGOLITH_GAS = 150_000_000n
const REGOLITH_GAS = 1_000_000n

/** Parses the calldata of an L1-info deposit in any of its formats. Throws DecodeError. */
export function parseL1Info(calldata: Uint8Array): L1Info {
  const selector = toHex(calldata.subarray(0, 4))
  const format = FORMAT_OF_SELECTOR.get(selector)
  if (format === undefined) throw new DecodeError(`L1 info: unknown selector ${selector}`)
  const { length } = FORMATS[format]
  if (calldata.length !== length) {
    throw new DecodeError(`L1 info (${format}): expected ${length} bytes, got ${calldata.length}`)
  }
  return format === 'bedrock' ? parseBedrock(calldata) : parsePacked(calldata, format)
}

/** L1 info of an L2 block's first transaction. Throws DecodeError if that is not an L1-info deposit. */
export function l1InfoOfTransactions(transactions: readonly Uint8Array[]): L1Info {
  const [first] = transactions
  if (first === undefined) throw new DecodeError('L2 block has no transactions, so no L1 info')
  const deposit = decodeDepositTx(first)
  if (deposit.to !== L1_BLOCK_ADDRESS) throw new DecodeError(`L1 info: first deposit is for ${deposit.to}`)
  return parseL1Info(deposit.data)
}

/** The required first deposit of the L2 block at `l2Time` with this L1 origin and sequence number. */
export function l1InfoDepositTx(
  config: RollupConfig,
  systemConfig: SystemConfig,
  sequenceNumber: number,
  l1Block: L1BlockInfo,
  l2Time: number,
): DepositTx {
  const regolith = isForkActive(config, 'regolith', l2Time)
  return {
    sourceHash: l1InfoSourceHash(l1Block.hash, sequenceNumber),
    from: DEPOSITOR_ACCOUNT,
    to: L1_BLOCK_ADDRESS,
    mint: 0n,
    value: 0n,
    gas: regolith ? REGOLITH_GAS : PRE_REGOLITH_GAS,
    isSystemTx: !regolith,
    data: encodeL1Info(l1InfoOf(config, systemConfig, sequenceNumber, l1Block, l2Time)),
  }
}

/** The required L1 info of the L2 block at `l2Time`. */
export function l1InfoOf(
  config: RollupConfig,
  systemConfig: SystemConfig,
  sequenceNumber: number,
  l1Block: L1BlockInfo,
  l2Time: number,
): L1Info {
  const format = l1InfoFormatAt(config, l2Time)
  const info: L1Info = {
    format,
    number: l1Block.number,
    timestamp: l1Block.timestamp,
    baseFee: l1Block.baseFeePerGas,
    blockHash: l1Block.hash,
    sequenceNumber,
    batcherAddress: systemConfig.batcherAddress,
    blobBaseFee: 0n,
    baseFeeScalar: 0,
    blobBaseFeeScalar: 0,
  }
  if (format === 'bedrock') {
    info.overhead = BigInt(systemConfig.overhead)
    info.scalar = BigInt(systemConfig.scalar)
    return info
  }
  const { baseFeeScalar, blobBaseFeeScalar } = decodeScalar(systemConfig.scalar)
  info.baseFeeScalar = baseFeeScalar
  info.blobBaseFeeScalar = blobBaseFeeScalar
  info.blobBaseFee = l1BlobBaseFee(config, l1Block)
  if (format === 'ecotone') return info
  const operatorFee = decodeOperatorFeeParams(systemConfig.operatorFeeParams)
  info.operatorFeeScalar = operatorFee.scalar
  info.operatorFeeConstant = operatorFee.constant
  if (format === 'isthmus') return info
  info.daFootprintGasScalar = systemConfig.daFootprintGasScalar || DEFAULT_DA_FOOTPRINT_GAS_SCALAR
  return info
}

/** Calldata of the L1-info deposit in `info.format`. */
export function encodeL1Info(info: L1Info): Uint8Array {
  return info.format === 'bedrock' ? encodeBedrock(info) : encodePacked(info)
}

/** A fork's activation block still uses the previous format, because the contract is upgraded within that block. */
function l1InfoFormatAt(config: RollupConfig, l2Time: number): L1InfoFormat {
  const isPastActivation = (fork: Fork) =>
    isForkActive(config, fork, l2Time) && !isForkActivationBlock(config, fork, l2Time)
  if (isPastActivation('jovian')) return 'jovian'
  if (isPastActivation('isthmus')) return 'isthmus'
  if (isPastActivation('ecotone')) return 'ecotone'
  return 'bedrock'
}

function parseBedrock(data: Uint8Array): L1Info {
  const word = (index: number) => bytesToBigInt(data.subarray(4 + index * 32, 36 + index * 32))
  return {
    format: 'bedrock',
    number: toSafeNumber(word(0), 'L1 info number'),
    timestamp: toSafeNumber(word(1), 'L1 info timestamp'),
    baseFee: word(2),
    blockHash: toHex(data.subarray(100, 132)),
    sequenceNumber: toSafeNumber(word(4), 'L1 info sequence number'),
    batcherAddress: addressAt(data, 164),
    blobBaseFee: 0n,
    baseFeeScalar: 0,
    blobBaseFeeScalar: 0,
    overhead: word(6),
    scalar: word(7),
  }
}

function encodeBedrock(info: L1Info): Uint8Array {
  return concatBytes(
    fromHex(FORMATS.bedrock.selector),
    bigIntToBytes(BigInt(info.number), 32),
    bigIntToBytes(BigInt(info.timestamp), 32),
    bigIntToBytes(info.baseFee, 32),
    fromHex(info.blockHash, 32, 'L1 block hash'),
    bigIntToBytes(BigInt(info.sequenceNumber), 32),
    new Uint8Array(12),
    fromHex(info.batcherAddress, 20, 'batcher address'),
    bigIntToBytes(info.overhead ?? 0n, 32),
    bigIntToBytes(info.scalar ?? 0n, 32),
  )
}

function parsePacked(data: Uint8Array, format: Exclude<L1InfoFormat, 'bedrock'>): L1Info {
  const uint = (offset: number, size: number) => bytesToBigInt(data.subarray(offset, offset + size))
  const info: L1Info = {
    format,
    number: toSafeNumber(uint(28, 8), 'L1 info number'),
    timestamp: toSafeNumber(uint(20, 8), 'L1 info timestamp'),
    baseFee: uint(36, 32),
    blockHash: toHex(data.subarray(100, 132)),
    sequenceNumber: toSafeNumber(uint(12, 8), 'L1 info sequence number'),
    batcherAddress: addressAt(data, 132),
    blobBaseFee: uint(68, 32),
    baseFeeScalar: Number(uint(4, 4)),
    blobBaseFeeScalar: Number(uint(8, 4)),
  }
  if (format === 'ecotone') return info
  info.operatorFeeScalar = Number(uint(164, 4))
  info.operatorFeeConstant = uint(168, 8)
  if (format === 'jovian') info.daFootprintGasScalar = Number(uint(176, 2))
  return info
}

function encodePacked(info: L1Info): Uint8Array {
  const { selector, length } = FORMATS[info.format]
  const out = new Uint8Array(length)
  const view = new DataView(out.buffer)
  out.set(fromHex(selector), 0)
  view.setUint32(4, info.baseFeeScalar)
  view.setUint32(8, info.blobBaseFeeScalar)
  view.setBigUint64(12, BigInt(info.sequenceNumber))
  view.setBigUint64(20, BigInt(info.timestamp))
  view.setBigUint64(28, BigInt(info.number))
  out.set(bigIntToBytes(info.baseFee, 32), 36)
  out.set(bigIntToBytes(info.blobBaseFee, 32), 68)
  out.set(fromHex(info.blockHash, 32, 'L1 block hash'), 100)
  out.set(fromHex(info.batcherAddress, 20, 'batcher address'), 144)
  if (info.format === 'ecotone') return out
  view.setUint32(164, info.operatorFeeScalar ?? 0)
  view.setBigUint64(168, info.operatorFeeConstant ?? 0n)
  if (info.format === 'jovian') view.setUint16(176, info.daFootprintGasScalar ?? 0)
  return out
}

/** Address in the low 20 bytes of the word at `offset`. The upper bytes must be zero, as every encoder leaves them. */
function addressAt(data: Uint8Array, offset: number): Hex {
  for (let i = offset; i < offset + 12; i++) {
    if (data[i] !== 0) throw new DecodeError('L1 info: batcher hash is not a padded address')
  }
  return toHex(data.subarray(offset + 12, offset + 32))
}
