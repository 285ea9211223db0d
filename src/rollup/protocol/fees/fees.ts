import { countZeros } from '../../../lib/bytes.ts'
import type { Hex } from '../../../lib/hex.ts'
import { isForkActive } from '../config/forks.ts'
import type { L1Info } from '../l1/l1Info.ts'
import type { RollupConfig } from '../types.ts'
import { fastLzLength } from './fastLz.ts'
import { decodeExtraData } from './scalars.ts'

// specs: exec-engine "L1-Cost fees", {regolith,ecotone,fjord,isthmus,jovian}/exec-engine.

/** Bytes that a signature adds, all non-zero. Counted before Regolith. */
const BEDROCK_SIGNATURE_BYTES = 68n
const SCALAR_DECIMALS = 1_000_000n
/** Linear model of the compressed size as a function of the FastLZ size, scaled by 10^6. */
const FJORD_INTERCEPT = -42_585_600
const FJORD_FASTLZ_COEFFICIENT = 836_500
const FJORD_MIN_SIZE_SCALED = 100_000_000
const OPERATOR_FEE_JOVIAN_FACTOR = 100n

export type L1FeeRules = 'bedrock' | 'regolith' | 'ecotone' | 'fjord'

/** L1 fee parameters of a block, from its L1-info deposit or from the L1Block contract. */
export type L1FeeParams = Pick<
  L1Info,
  'baseFee' | 'blobBaseFee' | 'baseFeeScalar' | 'blobBaseFeeScalar' | 'overhead' | 'scalar'
>

export interface L1DataFee {
  /** Wei. */
  fee: bigint
  /** `l1GasUsed` of receipts. */
  gasUsed: bigint
}

/**
 * Selects the fee formula of a block. The first Ecotone block has no scalars and no blob base fee yet, and keeps the
 * previous formula.
 */
export function l1FeeRulesAt(config: Pick<RollupConfig, 'forks'>, l2Time: number, params: L1FeeParams): L1FeeRules {
  if (isForkActive(config, 'ecotone', l2Time)) {
    const isUnset = params.blobBaseFee === 0n && params.baseFeeScalar === 0 && params.blobBaseFeeScalar === 0
    if (!isUnset) return isForkActive(config, 'fjord', l2Time) ? 'fjord' : 'ecotone'
  }
  return isForkActive(config, 'regolith', l2Time) ? 'regolith' : 'bedrock'
}

/** L1 data fee of a signed transaction in EIP-2718 encoding. Do not call it for deposits, which pay none. */
export function l1DataFee(transaction: Uint8Array, rules: L1FeeRules, params: L1FeeParams): L1DataFee {
  if (rules === 'fjord') return fjordDataFee(fastLzLength(transaction), params)
  const zeros = countZeros(transaction)
  const others = BigInt(transaction.length - zeros)
  const dataGas = 4n * BigInt(zeros) + 16n * others
  if (rules === 'ecotone') {
    return { fee: (dataGas * ecotonePrice(params)) / (16n * SCALAR_DECIMALS), gasUsed: dataGas }
  }
  const signatureGas = rules === 'bedrock' ? 16n * BEDROCK_SIGNATURE_BYTES : 0n
  const gasUsed = dataGas + signatureGas + (params.overhead ?? 0n)
  return { fee: (gasUsed * params.baseFee * (params.scalar ?? 0n)) / SCALAR_DECIMALS, gasUsed }
}

/** Fjord's fee for a FastLZ length, for callers that cache the length (it does not depend on the block). */
export function fjordDataFee(fastLzBytes: number, params: L1FeeParams): L1DataFee {
  const size = BigInt(estimatedSizeScaled(fastLzBytes))
  return {
    fee: (size * ecotonePrice(params)) / (SCALAR_DECIMALS * SCALAR_DECIMALS),
    gasUsed: (size * 16n) / SCALAR_DECIMALS,
  }
}

/** Estimated compressed bytes of a transaction, at least 100: the size that Fjord uses for data availability. */
export function estimatedDaSize(fastLzBytes: number): number {
  return Math.floor(estimatedSizeScaled(fastLzBytes) / 1_000_000)
}

/** DA footprint of a transaction in gas (Jovian). */
export function daFootprint(transaction: Uint8Array, daFootprintGasScalar: number): bigint {
  return BigInt(estimatedDaSize(fastLzLength(transaction))) * BigInt(daFootprintGasScalar)
}

export interface OperatorFeeOptions {
  /** u32 */
  scalar: number
  /** u64 */
  constant: bigint
  jovian: boolean
}

/** Operator fee (Isthmus) for an amount of gas, in wei. */
export function operatorFee(gas: bigint, { scalar, constant, jovian }: OperatorFeeOptions): bigint {
  const product = gas * BigInt(scalar)
  return (jovian ? product * OPERATOR_FEE_JOVIAN_FACTOR : product / SCALAR_DECIMALS) + constant
}

/** The fields of a parent block that determine the next base fee. */
export interface BaseFeeParent {
  timestamp: number
  baseFeePerGas: bigint
  gasLimit: bigint
  gasUsed: bigint
  extraData: Hex
  blobGasUsed?: bigint
}

/** EIP-1559 constants, used if the parent's header does not contain them. */
export interface BaseFeeConstants {
  elasticity: number
  denominator: number
  denominatorCanyon: number
}

/** The constants of OP Mainnet, and the default for other chains. */
export const DEFAULT_BASE_FEE_CONSTANTS: BaseFeeConstants = { elasticity: 6, denominator: 50, denominatorCanyon: 250 }

/**
 * Base fee of the block at `timestamp` after this parent. Throws DecodeError if the parent's extraData does not match
 * its fork. Throws RangeError if the parent's gas limit is below the elasticity.
 */
export function nextBaseFee(
  config: Pick<RollupConfig, 'forks' | 'chainOpConfig'>,
  parent: BaseFeeParent,
  timestamp: number,
  constants: BaseFeeConstants = baseFeeConstants(config),
): bigint {
  const jovian = isForkActive(config, 'jovian', parent.timestamp)
  const fromHeader = isForkActive(config, 'holocene', parent.timestamp)
    ? decodeExtraData(parent.extraData, jovian ? 'jovian' : 'holocene')
    : undefined
  const canyon = isForkActive(config, 'canyon', timestamp)
  const elasticity = BigInt(fromHeader?.elasticity ?? constants.elasticity)
  const denominator = BigInt(fromHeader?.denominator ?? (canyon ? constants.denominatorCanyon : constants.denominator))

  const footprint = jovian ? (parent.blobGasUsed ?? 0n) : 0n
  const used = parent.gasUsed > footprint ? parent.gasUsed : footprint
  const baseFee = stepBaseFee(parent.baseFeePerGas, used, parent.gasLimit / elasticity, denominator)
  const minimum = fromHeader?.minBaseFee ?? 0n
  return baseFee > minimum ? baseFee : minimum
}

/** The constants of the rollup config, or the defaults. */
export function baseFeeConstants(config: Pick<RollupConfig, 'chainOpConfig'>): BaseFeeConstants {
  const chain = config.chainOpConfig
  if (chain === undefined) return DEFAULT_BASE_FEE_CONSTANTS
  return {
    elasticity: chain.eip1559Elasticity,
    denominator: chain.eip1559Denominator,
    denominatorCanyon: chain.eip1559DenominatorCanyon || chain.eip1559Denominator,
  }
}

function stepBaseFee(baseFee: bigint, used: bigint, target: bigint, denominator: bigint): bigint {
  if (used === target) return baseFee
  if (used > target) {
    const rise = (baseFee * (used - target)) / target / denominator
    return baseFee + (rise > 1n ? rise : 1n)
  }
  return baseFee - (baseFee * (target - used)) / target / denominator
}

function ecotonePrice(params: L1FeeParams): bigint {
  return 16n * params.baseFee * BigInt(params.baseFeeScalar) + params.blobBaseFee * BigInt(params.blobBaseFeeScalar)
}

function estimatedSizeScaled(fastLzBytes: number): number {
  return Math.max(FJORD_MIN_SIZE_SCALED, FJORD_INTERCEPT + FJORD_FASTLZ_COEFFICIENT * fastLzBytes)
}
