import type { SignedTransaction } from '../../rollup/protocol/index.ts'

/** Wei per gas paid above the base fee. Negative if the transaction cannot pay the base fee. */
export function effectiveTip(
  tx: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFee: bigint,
): bigint {
  const maxTip = tx.maxFeePerGas - baseFee
  return maxTip < tx.maxPriorityFeePerGas ? maxTip : tx.maxPriorityFeePerGas
}

/** Checks that the fees fit each other and the base fee. Returns the tip. `refusal` makes the error of geth's message. */
export function checkedTip(
  tx: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  sender: string,
  baseFee: bigint,
  refusal: (message: string) => Error,
): bigint {
  const { maxFeePerGas, maxPriorityFeePerGas } = tx
  if (maxPriorityFeePerGas > maxFeePerGas) {
    throw refusal(
      `max priority fee per gas higher than max fee per gas: address ${sender}, maxPriorityFeePerGas: ${maxPriorityFeePerGas}, maxFeePerGas: ${maxFeePerGas}`,
    )
  }
  if (maxFeePerGas < baseFee) {
    throw refusal(
      `max fee per gas less than block base fee: address ${sender}, maxFeePerGas: ${maxFeePerGas}, baseFee: ${baseFee}`,
    )
  }
  return effectiveTip(tx, baseFee)
}
