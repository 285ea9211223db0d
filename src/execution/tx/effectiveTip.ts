import type { SignedTransaction } from '../../rollup/protocol/index.ts'

/** Wei per gas that the transaction pays over the base fee; negative when it cannot pay the base fee. */
export function effectiveTip(
  tx: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFee: bigint,
): bigint {
  const room = tx.maxFeePerGas - baseFee
  return room < tx.maxPriorityFeePerGas ? room : tx.maxPriorityFeePerGas
}
