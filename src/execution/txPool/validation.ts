import type { FeeSchedule } from '../block/executeTransaction.ts'
import type { Chain } from '../chain/opChain.ts'
import type { AccountState } from '../chain/types.ts'
import { MAX_INIT_CODE_BYTES, MAX_TX_GAS, startGas } from '../evm/intrinsicGas.ts'
import type { BlockHeader, SignedTransaction } from '../primitives/block.ts'
import { TxPoolError } from './errors.ts'
import { TX_MAX_BYTES, type TxPoolOptions } from './options.ts'

/** Gas that the L1-info deposit uses in a block before any pool transaction (op-geth, `l1InfoGasOverhead`). */
export const L1_INFO_GAS_OVERHEAD = 70_000n
/** EIP-2681. */
const MAX_NONCE = 2n ** 64n - 1n
const MAX_UINT256 = 2n ** 256n - 1n

type Rules = Pick<Chain, 'config' | 'isForkActive'>

/** Highest gas limit of a pool transaction on top of this block. */
export function maxTransactionGas(head: Pick<BlockHeader, 'gasLimit'>, effectiveGasLimit: bigint): bigint {
  const limit = effectiveGasLimit > 0n && effectiveGasLimit < head.gasLimit ? effectiveGasLimit : head.gasLimit
  return limit > L1_INFO_GAS_OVERHEAD ? limit - L1_INFO_GAS_OVERHEAD : 0n
}

/** Checks that need no state, in geth's order. Throws TxPoolError. */
export function checkTransaction(
  transaction: SignedTransaction,
  chain: Rules,
  head: BlockHeader,
  options: Pick<TxPoolOptions, 'priceLimitWei' | 'effectiveGasLimit'>,
): void {
  const { type, raw, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const isthmus = chain.isForkActive('isthmus', head.timestamp)
  const canyon = chain.isForkActive('canyon', head.timestamp)
  if (raw.length > TX_MAX_BYTES) {
    throw new TxPoolError('oversized-data', `transaction size ${raw.length}, limit ${TX_MAX_BYTES}`)
  }
  if (type === 4 && !isthmus) throw new TxPoolError('type-not-supported', 'type 4 rejected, pool not yet in Prague')
  if (canyon && transaction.to === null && data.length > MAX_INIT_CODE_BYTES) {
    throw new TxPoolError('init-code-size', `code size ${data.length} limit ${MAX_INIT_CODE_BYTES}`)
  }
  if (gasLimit > maxTransactionGas(head, options.effectiveGasLimit)) throw new TxPoolError('gas-limit')
  if (gasLimit > MAX_TX_GAS && chain.isForkActive('karst', head.timestamp)) {
    throw new TxPoolError('gas-limit-too-high', `cap ${MAX_TX_GAS}, tx ${gasLimit}`)
  }
  if (maxFeePerGas > MAX_UINT256) throw new TxPoolError('fee-cap-very-high')
  if (maxPriorityFeePerGas > MAX_UINT256) throw new TxPoolError('tip-very-high')
  if (maxPriorityFeePerGas > maxFeePerGas) throw new TxPoolError('tip-above-fee-cap')
  const { chainId } = transaction
  if (chainId !== undefined && chainId !== chain.config.chainId) {
    const detail = `invalid chain id for signer: have ${chainId} want ${chain.config.chainId}`
    throw new TxPoolError('invalid-sender', detail)
  }
  if (BigInt(transaction.nonce) >= MAX_NONCE) throw new TxPoolError('nonce-max')
  const { intrinsic, floor } = startGas(transaction, { canyon, isthmus })
  if (gasLimit < intrinsic) throw new TxPoolError('intrinsic-gas', `gas ${gasLimit}, minimum needed ${intrinsic}`)
  if (gasLimit < floor) throw new TxPoolError('floor-data-gas', `gas ${gasLimit}, minimum needed ${floor}`)
  if (maxPriorityFeePerGas < options.priceLimitWei) {
    const detail = `gas tip cap ${maxPriorityFeePerGas}, minimum needed ${options.priceLimitWei}`
    throw new TxPoolError('tip-too-low', detail)
  }
  if (type === 4 && transaction.authorizationList?.length === 0) throw new TxPoolError('empty-authorization-list')
}

/** Highest cost of a transaction to its sender in wei, L1 data fee and operator fee included. */
export function transactionCost(transaction: SignedTransaction, fees: FeeSchedule): bigint {
  const { gasLimit, maxFeePerGas, value, raw } = transaction
  return gasLimit * maxFeePerGas + value + fees.l1DataFee(raw) + fees.operatorFee(gasLimit)
}

/** Checks against the sender's account after the head block. Throws TxPoolError. */
export function checkAccount(
  transaction: SignedTransaction,
  account: Pick<AccountState, 'nonce' | 'balance'>,
  cost: bigint,
  /** Cost of the sender's other pool transactions. */
  spent: bigint,
): void {
  const { nonce, balance } = account
  if (BigInt(transaction.nonce) < nonce) {
    throw new TxPoolError('nonce-too-low', `next nonce ${nonce}, tx nonce ${transaction.nonce}`)
  }
  if (balance < cost) {
    throw new TxPoolError('insufficient-funds', `balance ${balance}, tx cost ${cost}, overshot ${cost - balance}`)
  }
  const need = spent + cost
  if (balance < need) {
    const detail = `balance ${balance}, queued cost ${spent}, tx cost ${cost}, overshot ${need - balance}`
    throw new TxPoolError('insufficient-funds', detail)
  }
}
