import type { SignedTransaction } from '../../rollup/protocol/index.ts'

/** Wei per gas paid above the base fee. Negative if the transaction cannot pay the base fee. */
export function effectiveTip(
  tx: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFee: bigint,
): bigint {
  const maxTip = tx.maxFeePerGas - baseFee
  return maxTip < tx.maxPriorityFeePerGas ? maxTip : tx.maxPriorityFeePerGas
}
