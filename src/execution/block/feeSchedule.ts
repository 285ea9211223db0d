import { daFootprint, type L1FeeParams, l1DataFee, l1FeeRulesAt, operatorFee } from '../../rollup/protocol/fees/fees.ts'
import { type ChainConfig, rulesAt } from '../config/chainConfig.ts'
import type { L1FeeFields } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import { fjordFeeOf } from '../tx/dataSize.ts'
import type { FeeSchedule } from './executeTransaction.ts'
import { readFeeParameters } from './feeParameters.ts'

type Forks = Pick<ChainConfig, 'forks'>

/** Fees of a block's transactions, with the L1Block contract's parameters in this state. */
export function createFeeSchedule(world: WorldState, config: Forks, timestamp: number): FeeSchedule {
  const rules = rulesAt(config, timestamp)
  const params = readFeeParameters(world, rules)
  const formula = l1FeeRulesAt(config, timestamp, params)
  const operator = { scalar: params.operatorFeeScalar, constant: params.operatorFeeConstant, jovian: rules.jovian }
  return {
    l1DataFee: (raw) => (formula === 'fjord' ? fjordFeeOf(raw, params) : l1DataFee(raw, formula, params).fee),
    operatorFee: (gas) => (rules.isthmus ? operatorFee(gas, operator) : 0n),
  }
}

/** The fee parameters in a block's L1-info deposit. Receipts are derived from them, not from state. */
export interface L1InfoFees extends L1FeeParams {
  operatorFeeScalar?: number
  operatorFeeConstant?: bigint
  daFootprintGasScalar?: number
}

/** The L1 cost fields of a signed transaction's receipt (op-geth: core/types/receipt.go, deriveFields). */
export function l1FeeFields(raw: Uint8Array, info: L1InfoFees, config: Forks, timestamp: number): L1FeeFields {
  const formula = l1FeeRulesAt(config, timestamp, info)
  const { fee, gasUsed } = l1DataFee(raw, formula, info)
  const fields: L1FeeFields = { l1GasPrice: info.baseFee, l1GasUsed: gasUsed, l1Fee: fee }
  if (formula === 'bedrock' || formula === 'regolith') {
    fields.l1FeeScalar = scaledText(info.scalar ?? 0n)
    return fields
  }
  fields.l1BlobBaseFee = info.blobBaseFee
  fields.l1BaseFeeScalar = BigInt(info.baseFeeScalar)
  fields.l1BlobBaseFeeScalar = BigInt(info.blobBaseFeeScalar)
  const { operatorFeeScalar = 0, operatorFeeConstant = 0n, daFootprintGasScalar } = info
  if (operatorFeeScalar !== 0 || operatorFeeConstant !== 0n) {
    fields.operatorFeeScalar = BigInt(operatorFeeScalar)
    fields.operatorFeeConstant = operatorFeeConstant
  }
  if (daFootprintGasScalar !== undefined) {
    fields.daFootprintGasScalar = BigInt(daFootprintGasScalar)
    fields.daFootprint = daFootprint(raw, daFootprintGasScalar)
  }
  return fields
}

/** scalar / 10^6 as decimal text without trailing zeros. */
function scaledText(scalar: bigint): string {
  const digits = scalar.toString().padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
}
