import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { checksumAddress } from '../../../lib/checksumAddress.ts'
import { ZERO_ADDRESS } from '../../../rollup/protocol/types.ts'
import { ChainError } from '../../errors.ts'
import { checkStart, type StartGas } from '../../evm/intrinsicGas.ts'
import type { MessageResult } from '../../evm/message.ts'
import { type Environment, runMessage } from '../../evm/runMessage.ts'
import { checkedTip } from '../../tx/effectiveTip.ts'
import type { CallRequest } from './types.ts'

/** Why a call cannot start, or blocks cannot be simulated: `details.problem` of the ChainError `execution-failed`. */
export type CallProblem =
  | 'nonce-too-high'
  | 'nonce-too-low'
  | 'fees'
  | 'insufficient-funds'
  | 'intrinsic-gas'
  | 'init-code-size'
  | 'floor-gas'
  /** An EIP-7702 transaction that creates a contract, or has no authorizations. */
  | 'set-code'
  /** This and the next three problems occur in eth_simulateV1 only. */
  | 'block-number'
  | 'block-timestamp'
  | 'too-many-blocks'
  | 'block-gas-limit'

/** Wei per gas. */
export interface GasPrices {
  /** The price that is paid, and the result of GASPRICE. */
  effective: bigint
  /** The price that the sender must be able to pay. */
  cap: bigint
}

/**
 * Throws ChainError `execution-failed` if the offered price is too low for the block. A call without a price is free.
 */
export function gasPrices(request: CallRequest, baseFee: bigint, { isFree = true } = {}): GasPrices {
  const { gasPrice, maxFeePerGas = gasPrice ?? 0n, maxPriorityFeePerGas = gasPrice ?? 0n } = request
  if (isFree && maxFeePerGas === 0n && maxPriorityFeePerGas === 0n) return { effective: 0n, cap: 0n }
  const sender = checksumAddress(request.from ?? ZERO_ADDRESS)
  const refusal = (message: string) => callFailed('fees', message)
  const tip = checkedTip({ maxFeePerGas, maxPriorityFeePerGas }, sender, baseFee, refusal)
  return { effective: baseFee + tip, cap: maxFeePerGas }
}

/**
 * Checks that the call can start, before any authorization's signer is recovered. Throws ChainError `execution-failed`.
 */
export function checkCall(
  { world, block }: Environment,
  request: CallRequest,
  gas: bigint,
  price: GasPrices,
): StartGas {
  const { from = ZERO_ADDRESS, to = null, value = 0n, data = EMPTY_BYTES } = request
  checkSetCode(request)
  const balance = world.balance(from)
  const cost = gas * price.cap + value
  if (balance < cost) {
    throw callFailed(
      'insufficient-funds',
      `insufficient funds for gas * price + value: address ${checksumAddress(from)} have ${balance} want ${cost}`,
    )
  }
  return checkStart({ ...request, to, data }, gas, block.rules, callFailed)
}

/** Pays for the gas of a call that may start, and runs the call. */
export function runCall(
  env: Environment,
  request: CallRequest,
  gas: bigint,
  { intrinsic }: StartGas,
  price: GasPrices,
): Promise<MessageResult> {
  const { from = ZERO_ADDRESS, to = null, value = 0n, data = EMPTY_BYTES } = request
  const { accessList = [], authorizationList: authorizations = [] } = request
  if (price.effective > 0n) env.world.addBalance(from, -(gas * price.effective))
  const message = { from, to, value, data, gas: gas - intrinsic, gasPrice: price.effective, accessList, authorizations }
  return runMessage(env, message)
}

function checkSetCode({ from = ZERO_ADDRESS, to = null, authorizationList }: CallRequest): void {
  if (authorizationList === undefined) return
  const sender = `(sender ${checksumAddress(from)})`
  if (to === null) throw callFailed('set-code', `EIP-7702 transaction cannot be used to create contract ${sender}`)
  if (authorizationList.length === 0)
    throw callFailed('set-code', `EIP-7702 transaction with empty auth list ${sender}`)
}

export function callFailed(problem: CallProblem, message: string): ChainError {
  return new ChainError('execution-failed', message, { details: { problem } })
}
