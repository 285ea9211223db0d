import { gweiText } from '../../lib/phrases.ts'
import { TxError } from './errors.ts'
import { bumpFees, checkFeeLimits, type FeeLimits, type FeeSuggestion, larger } from './fees.ts'
import type { L1Tx } from './transaction.ts'

/** Why the L1 cannot mine a transaction as signed. */
export interface Obstacle {
  /** The L1's prices may fall again. Other obstacles need a replacement. */
  isPrice: boolean
  reason: string
}

/** The gas and fees that the L1 requires now. */
export interface L1Terms {
  fees: Pick<FeeSuggestion, 'baseFee' | 'blobBaseFee' | 'blockGasLimit'>
  /** Gas that the transaction needs. Undefined if the L1 does not estimate it. */
  gasNeeded: bigint | undefined
}

export function obstacleOf(tx: L1Tx, { fees, gasNeeded }: L1Terms): Obstacle | undefined {
  const { feeCap, blobFeeCap } = tx.fees
  const { gasLimit } = tx
  const { baseFee, blobBaseFee, blockGasLimit } = fees
  if (blockGasLimit !== undefined && gasLimit > blockGasLimit)
    return { isPrice: false, reason: `its gas limit of ${gasLimit} is above the ${blockGasLimit} of an L1 block` }
  if (gasNeeded !== undefined && gasLimit < gasNeeded)
    return { isPrice: false, reason: `its gas limit of ${gasLimit} is below the ${gasNeeded} that the L1 requires` }
  if (baseFee > feeCap) return priceObstacle('base fee', baseFee, 'fee cap', feeCap)
  if (blobFeeCap !== undefined && blobBaseFee !== undefined && blobBaseFee > blobFeeCap)
    return priceObstacle('blob base fee', blobBaseFee, 'blob fee cap', blobFeeCap)
  return undefined
}

function priceObstacle(price: string, wei: bigint, cap: string, capWei: bigint): Obstacle {
  return {
    isPrice: true,
    reason: `the L1's ${price} of ${gweiText(wei)} is above its ${cap} of ${gweiText(capWei)}`,
  }
}

/**
 * A version with higher fees that the L1 can mine. Throws FeeLimitError if it exceeds the operator's limits, if given.
 * Throws TxError if the L1 cannot mine it either.
 */
export function replacementOf(old: L1Tx, suggestion: FeeSuggestion, terms: L1Terms, limits?: FeeLimits): L1Tx {
  const fees = bumpFees(old.fees, suggestion)
  if (limits !== undefined) checkFeeLimits(fees, suggestion, limits)
  const tx: L1Tx = { ...old, fees, gasLimit: replacedGasLimit(old.gasLimit, terms) }
  const obstacle = obstacleOf(tx, terms)
  if (obstacle !== undefined) throw new TxError('tx-unmineable', obstacle.reason)
  return tx
}

/** The old limit, or the needed gas if that is more. If a block holds less than the old limit, the needed gas. */
function replacedGasLimit(old: bigint, { fees, gasNeeded = 0n }: L1Terms): bigint {
  const wanted = larger(old, gasNeeded)
  const { blockGasLimit = wanted } = fees
  return wanted > blockGasLimit && gasNeeded > 0n ? gasNeeded : wanted
}
