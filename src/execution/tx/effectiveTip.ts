import type { SignedTransaction } from '../../rollup/protocol/index.ts'

/** Wei per gas paid above the base fee. Negative if the transaction cannot pay the base fee. */
export function effectiveTip(
  tx: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFee: bigint,
): bigint {
  const room = tx.maxFeePerGas - baseFee
  return room < tx.maxPriorityFeePerGas ? room : tx.maxPriorityFeePerGas
}
