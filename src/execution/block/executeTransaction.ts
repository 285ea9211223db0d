import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { fromHex } from '../../lib/hex.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../../rollup/protocol/constants.ts'
import { ChainError } from '../errors.ts'
import { isDelegation } from '../evm/delegation.ts'
import { checkStart, MAX_INIT_CODE_BYTES, MAX_TX_GAS, type StartGas, settleGas, startGas } from '../evm/intrinsicGas.ts'
import type { MessageResult } from '../evm/message.ts'
import { type Environment, finishTransaction, runMessage } from '../evm/runMessage.ts'
import type { DepositTransaction, Log, SignedTransaction } from '../primitives/block.ts'
import { createAddress } from '../tx/createAddress.ts'
import { checkedTip } from '../tx/effectiveTip.ts'
import { postExecInvalid } from './postExecRules.ts'

/** L1 and operator fees under the parameters of a block (specs: fjord/exec-engine, isthmus/exec-engine). */
export interface FeeSchedule {
  /** Wei for this EIP-2718 encoding. */
  l1DataFee(raw: Uint8Array): bigint
  /** Wei for this amount of gas; 0 before Isthmus. */
  operatorFee(gas: bigint): bigint
}

export interface TransactionOutcome {
  status: 0 | 1
  /** Gas that is paid for, without refunds. */
  gasUsed: bigint
  /** Used gas that the block refunds (Lagoon). */
  gasRefund: bigint
  logs: Omit<Log, 'logIndex'>[]
  /** Wei to the fee recipient. */
  tip: bigint
  depositNonce?: number
  returnData: Uint8Array
  failure?: string
}

const MAX_NONCE = 2 ** 53 - 1

/** Gas that the block refunds to a transaction, given the gas that it used. */
export type RefundOf = (gasUsed: bigint) => bigint

/**
 * Executes a signed transaction. Throws ChainError `invalid-transaction` with geth's message if it cannot be part of a
 * block on this state; then nothing has changed. Throws `invalid-block` if the refund exceeds the gas used.
 */
export async function executeSigned(
  env: Environment,
  tx: SignedTransaction,
  fees: FeeSchedule,
  refundOf?: RefundOf,
): Promise<TransactionOutcome> {
  const { world, block } = env
  const { baseFee, rules } = block
  checkSender(env, tx)
  const tip = checkedTip(tx, tx.from, baseFee, invalid)
  const gasPrice = baseFee + tip
  const l1Fee = fees.l1DataFee(tx.raw)
  const operatorFeeLimit = fees.operatorFee(tx.gasLimit)
  checkFunds(env, tx, tx.gasLimit * tx.maxFeePerGas + tx.value + l1Fee + operatorFeeLimit)
  const start = checkGas(env, tx)

  world.addBalance(tx.from, -(tx.gasLimit * gasPrice + l1Fee + operatorFeeLimit))
  const result = await runMessage(env, {
    from: tx.from,
    to: tx.to,
    value: tx.value,
    data: tx.data,
    gas: tx.gasLimit - start.intrinsic,
    gasPrice,
    accessList: tx.accessList,
    authorizations: tx.authorizationList ?? [],
  })
  // The refund is subtracted after EIP-3529 and EIP-7623, so the paid gas may be below the calldata floor. The specs
  // say "the gas used reported by the EVM", and op-reth reads it the same way. The other reading applies the floor
  // again.
  const { gasUsed: evmGasUsed } = settleGas(start, result)
  const gasRefund = refundOf?.(evmGasUsed) ?? 0n
  if (gasRefund > evmGasUsed) throw refundTooLarge(gasRefund, evmGasUsed)
  // Fees for the paid gas equal the specs' settlement (lagoon/sdm): each delta is a difference of two fees. No delta
  // can underflow, since it takes back a part of this transaction's payment.
  const gasUsed = evmGasUsed - gasRefund
  const operatorFee = fees.operatorFee(gasUsed)
  const tipPaid = gasUsed * tip
  world.addBalance(tx.from, (tx.gasLimit - gasUsed) * gasPrice + operatorFeeLimit - operatorFee)
  world.addBalance(block.coinbase, tipPaid)
  world.addBalance(BASE_FEE_VAULT_ADDRESS, gasUsed * baseFee)
  world.addBalance(L1_FEE_VAULT_ADDRESS, l1Fee)
  if (rules.isthmus) world.addBalance(OPERATOR_FEE_VAULT_ADDRESS, operatorFee)
  finishTransaction(env)
  return { ...outcomeOf(result, gasUsed, tipPaid), gasRefund }
}

/**
 * Outcome of a post-exec transaction: it runs no code, uses no gas, and touches no account (specs: lagoon/post-exec,
 * "Receipt").
 */
export const POST_EXEC_OUTCOME: TransactionOutcome = {
  status: 1,
  gasUsed: 0n,
  gasRefund: 0n,
  logs: [],
  tip: 0n,
  returnData: EMPTY_BYTES,
}

/** Executes a deposit (specs: deposits, "Execution"). A deposit is always included, even if it fails. */
export async function executeDeposit(env: Environment, tx: DepositTransaction): Promise<TransactionOutcome> {
  const { world, block } = env
  const { rules } = block
  if (tx.mint > 0n) world.addBalance(tx.from, tx.mint)
  const nonce = world.nonce(tx.from)
  const depositNonce = rules.regolith ? { depositNonce: Number(nonce) } : {}
  const start = startGas(tx, rules)
  const { intrinsic, floor } = start
  const problem = depositProblem(env, tx, intrinsic > floor ? intrinsic : floor)
  if (problem !== undefined) {
    showUnrun(env, tx, nonce)
    world.setNonce(tx.from, nonce + 1n)
    finishTransaction(env)
    const gasUsed = tx.isSystemTx && !rules.regolith ? 0n : tx.gasLimit
    const failure = `failed deposit: ${problem}`
    const returnData = EMPTY_BYTES
    return { status: 0, gasUsed, gasRefund: 0n, logs: [], tip: 0n, ...depositNonce, returnData, failure }
  }
  const result = await runMessage(env, {
    from: tx.from,
    to: tx.to,
    value: tx.value,
    data: tx.data,
    gas: tx.gasLimit - intrinsic,
    gasPrice: 0n,
    accessList: [],
    authorizations: [],
  })
  // Before Regolith, deposits are charged their gas limit, and system transactions nothing.
  const gasUsed = rules.regolith ? settleGas(start, result).gasUsed : tx.isSystemTx ? 0n : tx.gasLimit
  finishTransaction(env)
  return { ...outcomeOf(result, gasUsed, 0n), ...depositNonce }
}

/** Shows the tracer the message that the deposit would have run. The error is op-geth's. */
function showUnrun({ evm: { tracer } }: Environment, tx: DepositTransaction, nonce: bigint): void {
  const { from, to, value, gasLimit, data: input } = tx
  const target = to ?? createAddress(fromHex(from), nonce)
  const kind = to === null ? 'CREATE' : 'CALL'
  tracer?.onEnter?.({ kind, from, to: target, value, gas: Number(gasLimit), input })
  tracer?.onExit?.({ gasLeft: 0, output: EMPTY_BYTES, failure: 'failed deposit transaction' })
}

/** Why a deposit fails before it reaches the EVM. Undefined if it can run. */
function depositProblem({ world, block }: Environment, tx: DepositTransaction, gasNeeded: bigint): string | undefined {
  if (tx.isSystemTx && block.rules.regolith) return 'system tx not supported'
  if (tx.gasLimit < gasNeeded) return `intrinsic gas too low: have ${tx.gasLimit}, want ${gasNeeded}`
  if (world.balance(tx.from) < tx.value) return `insufficient funds for transfer: address ${tx.from}`
  if (tx.to === null && block.rules.canyon && tx.data.length > MAX_INIT_CODE_BYTES) return 'max initcode size exceeded'
  return undefined
}

function checkSender({ world }: Environment, tx: SignedTransaction): void {
  const account = world.account(tx.from)
  const nonce = account?.nonce ?? 0n
  const detail = `address ${tx.from}, tx: ${tx.nonce} state: ${nonce}`
  if (BigInt(tx.nonce) > nonce) throw invalid(`nonce too high: ${detail}`)
  if (BigInt(tx.nonce) < nonce) throw invalid(`nonce too low: ${detail}`)
  if (tx.nonce >= MAX_NONCE) throw invalid(`nonce has max value: address ${tx.from}, nonce: ${tx.nonce}`)
  const code = world.code(tx.from)
  if (code.length > 0 && !isDelegation(code)) throw invalid(`sender not an eoa: address ${tx.from}`)
}

function checkFunds({ world }: Environment, tx: SignedTransaction, cost: bigint): void {
  const balance = world.balance(tx.from)
  if (balance >= cost) return
  throw invalid(`insufficient funds for gas * price + value: address ${tx.from} have ${balance} want ${cost}`)
}

function checkGas({ block }: Environment, tx: SignedTransaction): StartGas {
  const { rules } = block
  if (tx.chainId !== undefined && tx.chainId !== block.chainId) {
    throw invalid(`invalid chain id for signer: have ${tx.chainId} want ${block.chainId}`)
  }
  if (rules.karst && tx.gasLimit > MAX_TX_GAS) {
    throw invalid(`transaction gas limit too high (cap: ${MAX_TX_GAS}, tx: ${tx.gasLimit})`)
  }
  if (tx.type === 4 && !rules.isthmus) throw invalid('transaction type not supported')
  return checkStart(tx, tx.gasLimit, rules, (_, message) => invalid(message))
}

function outcomeOf(result: MessageResult, gasUsed: bigint, tip: bigint): TransactionOutcome {
  const { failure, logs, returnData } = result
  const status = failure === undefined ? 1 : 0
  const outcome: TransactionOutcome = { status, gasUsed, gasRefund: 0n, logs, tip, returnData }
  if (failure !== undefined) outcome.failure = failure
  return outcome
}

function refundTooLarge(gasRefund: bigint, gasUsed: bigint): ChainError {
  return postExecInvalid('refund-too-large', `the refund of ${gasRefund} is more than the gas used, ${gasUsed}`)
}

function invalid(message: string): ChainError {
  return new ChainError('invalid-transaction', message)
}
