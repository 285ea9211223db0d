import { ZERO_ADDRESS } from '../../../rollup/protocol/types.ts'
import { rulesAt } from '../../config/chainConfig.ts'
import { ChainError, hasCode } from '../../errors.ts'
import { REVERTED } from '../../evm/interpreter/failures.ts'
import { MAX_TX_GAS } from '../../evm/intrinsicGas.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { type Simulated, type SimulationModules, type SimulationPlace, simulateCall } from './simulation.ts'
import type { CallRequest, StateOverrides } from './types.ts'

const TX_GAS = 21_000n
const CALL_STIPEND = 2300n
/** The search ends when the bounds are this close (geth's estimateGasErrorRatio, 0.015). */
const ERROR_RATIO = { numerator: 15n, denominator: 1000n }

/**
 * Lowest gas limit with which the call succeeds, to within 1.5 % (geth's eth_estimateGas). `request.gas` limits it.
 * Throws ChainError `execution-reverted` (details.data) or `execution-failed`.
 */
export async function estimateGas(
  modules: SimulationModules,
  request: CallRequest,
  place: SimulationPlace,
  client?: AbortSignal,
): Promise<bigint> {
  const { header, overrides = {} } = place
  const attempt = (gas: bigint) => simulateCall(modules, { ...request, gas }, place, client)
  const limit = upperBound(modules, header, request, overrides)

  if (isPlainTransfer(modules, header, request, overrides) && limit >= TX_GAS) {
    const plain = await attempt(TX_GAS).catch(() => undefined)
    if (plain !== undefined && plain.failure === undefined) return TX_GAS
  }
  const atLimit = await attempt(limit).catch((error: unknown) => {
    if (!hasCode(error, 'execution-failed')) throw error
    // More gas would help, as for a call that runs out of gas.
    if (error.details.problem === 'intrinsic-gas') throw exceedsAllowance(limit)
    throw new ChainError('execution-failed', `failed with ${limit} gas: ${error.message}`)
  })
  if (atLimit.failure !== undefined) throw failureAt(limit, atLimit)

  let high = limit
  let low = atLimit.gasUsed - 1n
  // A call may need more gas than it uses: refunds come at the end, and each level keeps a 64th (EIP-150).
  const optimistic = ((atLimit.gasUsed + atLimit.refund + CALL_STIPEND) * 64n) / 63n
  if (optimistic < high) {
    if (await succeeds(attempt, optimistic)) high = optimistic
    else low = optimistic
  }
  while (low + 1n < high) {
    if ((high - low) * ERROR_RATIO.denominator < high * ERROR_RATIO.numerator) break
    let middle = (high + low) / 2n
    // Most calls need little more than they use.
    if (middle > low * 2n) middle = low * 2n
    if (await succeeds(attempt, middle)) high = middle
    else low = middle
  }
  return high
}

async function succeeds(attempt: (gas: bigint) => Promise<Simulated>, gas: bigint): Promise<boolean> {
  try {
    return (await attempt(gas)).failure === undefined
  } catch (error) {
    // Below the intrinsic gas the call does not start.
    if (hasCode(error, 'execution-failed')) return false
    throw error
  }
}

function failureAt(limit: bigint, { failure, returnData }: Simulated): ChainError {
  if (failure === REVERTED) {
    return new ChainError('execution-reverted', 'execution reverted', { details: { data: returnData } })
  }
  if (failure === 'out of gas') return exceedsAllowance(limit)
  return new ChainError('execution-failed', failure ?? 'execution failed')
}

function exceedsAllowance(limit: bigint): ChainError {
  return new ChainError('execution-failed', `gas required exceeds allowance (${limit})`)
}

/** The lowest of the request's limit, the block's limit, and the gas that the sender can pay. */
function upperBound(
  { config, worldAt }: SimulationModules,
  header: BlockHeader,
  request: CallRequest,
  overrides: StateOverrides,
): bigint {
  const { gas, value = 0n, from = ZERO_ADDRESS } = request
  let limit = gas !== undefined && gas >= TX_GAS && gas < header.gasLimit ? gas : header.gasLimit
  if (limit > MAX_TX_GAS && rulesAt(config, header.timestamp).karst) limit = MAX_TX_GAS
  const feeCap = request.maxFeePerGas ?? request.gasPrice ?? 0n
  if (feeCap === 0n) return limit
  const balance = overrides[from]?.balance ?? worldAt(header).balance(from)
  if (value >= balance) throw new ChainError('execution-failed', 'insufficient funds for transfer')
  const affordable = (balance - value) / feeCap
  if (affordable < limit) limit = affordable
  return limit
}

function isPlainTransfer(
  { worldAt }: SimulationModules,
  header: BlockHeader,
  { to, data }: CallRequest,
  overrides: StateOverrides,
): boolean {
  if (to === undefined || to === null || (data !== undefined && data.length > 0)) return false
  const code = overrides[to]?.code ?? worldAt(header).code(to)
  return code.length === 0
}
