import { checksumAddress } from '../../../lib/checksumAddress.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import type { Hex } from '../../../lib/hex.ts'
import { BASE_FEE_VAULT_ADDRESS, OPERATOR_FEE_VAULT_ADDRESS } from '../../../rollup/protocol/constants.ts'
import { encodeTransaction } from '../../../rollup/protocol/index.ts'
import { parseL1Info } from '../../../rollup/protocol/l1/l1Info.ts'
import { ZERO_ADDRESS, ZERO_HASH } from '../../../rollup/protocol/types.ts'
import { commitBlock } from '../../block/blockExecution.ts'
import { createFeeSchedule } from '../../block/feeSchedule.ts'
import { childBaseFee, headerOf } from '../../block/headerRules.ts'
import { beginBlock } from '../../block/systemCalls.ts'
import { ChainError, hasCode } from '../../errors.ts'
import { type Ancestry, createEnvironment, type EvmModules } from '../../evm/environment.ts'
import { REVERTED } from '../../evm/interpreter/failures.ts'
import { settleGas } from '../../evm/intrinsicGas.ts'
import { type Environment, finishTransaction } from '../../evm/runMessage.ts'
import type { Block, BlockHeader, SignedTransaction } from '../../primitives/block.ts'
import type { WorldState } from '../../state/worldState.ts'
import { TransferLogs } from '../../tracing/transferLogs.ts'
import { daSizeOf } from '../../tx/dataSize.ts'
import { type ExecutionReceipt, logsBloom } from '../../tx/receiptCodec.ts'
import { toBlock } from '../blockReader.ts'
import { callFailed, checkCall, gasPrices, runCall } from './callGas.ts'
import type { SimulationModules } from './simulation.ts'
import { type PlannedBlock, planBlocks } from './simulationPlan.ts'
import { applyOverrides, overriddenPrecompiles } from './stateOverrides.ts'
import type { CallRequest, SimulatedBlock, SimulatedCall, SimulationRequest } from './types.ts'

/**
 * Runs blocks of calls on top of `base`, like geth 1.17's eth_simulateV1. Nobody pays for L1 data, and the blocks have
 * no deposits. Throws ChainError `execution-failed` if a call cannot be part of its block.
 */
export async function simulateBlocks(
  { worldAt, ...evm }: SimulationModules,
  request: SimulationRequest,
  base: Block,
  client?: AbortSignal,
): Promise<SimulatedBlock[]> {
  const simulated = new Map<Hex, BlockHeader>()
  const simulation: Simulation = {
    evm: { ...evm, ancestry: withSimulated(evm.ancestry, simulated) },
    request,
    base,
    world: worldAt(base.header),
    gasPool: request.gasCap,
  }
  simulation.world.listsDeleted = false
  const results: SimulatedBlock[] = []
  let parent = base.header
  for (const plan of planBlocks(request.blocks, base.header)) {
    const result = await simulateBlock(simulation, plan, parent, client)
    results.push(result)
    parent = result.block.header
    simulated.set(parent.hash, parent)
  }
  return results
}

/** Estimated characters of a call and of a log, without their data. */
const CALL_CHARACTERS = 200
const LOG_CHARACTERS = 700

interface Simulation {
  evm: EvmModules
  request: SimulationRequest
  base: Block
  world: WorldState
  /** Gas that the remaining calls may use; undefined = no limit. */
  gasPool: bigint | undefined
}

/** Results of the calls of a block so far. */
interface Executed {
  transactions: SignedTransaction[]
  receipts: ExecutionReceipt[]
  calls: SimulatedCall[]
  gasUsed: bigint
}

async function simulateBlock(
  simulation: Simulation,
  plan: PlannedBlock,
  parent: BlockHeader,
  client: AbortSignal | undefined,
): Promise<SimulatedBlock> {
  const { evm, request, world } = simulation
  const { number, timestamp, overrides } = plan
  const context = {
    number,
    timestamp,
    coinbase: plan.block.coinbase ?? parent.coinbase,
    prevRandao: plan.block.prevRandao ?? ZERO_HASH,
    gasLimit: plan.block.gasLimit ?? parent.gasLimit,
    blobBaseFee: plan.block.blobBaseFee,
    // Without validation, the base fee is zero, so that calls without a price run.
    baseFee: plan.block.baseFee ?? (request.isValidated ? nextBaseFee(simulation, parent, timestamp) : 0n),
  }
  const env = createEnvironment(evm, world, context, parent.hash, client)
  applyOverrides(world, overrides)
  env.evm.callable = overriddenPrecompiles(env.evm.precompiles, overrides)
  const parentBeaconBlockRoot = plan.block.parentBeaconBlockRoot ?? ZERO_HASH
  await beginBlock(env, evm.config, { parent, parentBeaconBlockRoot })
  const logs = new TransferLogs(request)
  env.evm.tracer = logs
  const executed: Executed = { transactions: [], receipts: [], calls: [], gasUsed: 0n }
  for (const call of plan.calls) {
    await env.evm.yieldToLoop()
    await simulateTransaction(simulation, env, call, logs, executed)
  }
  await env.evm.yieldToLoop()
  const { transactions, receipts, calls, gasUsed } = executed
  const daFootprint = env.block.rules.jovian ? footprintOf(simulation.base, transactions) : 0n
  const header = headerOf(
    env.block,
    { ...commitBlock(env, receipts), gasUsed, daFootprint },
    { parentHash: parent.hash, parentBeaconBlockRoot, extraData: '0x', transactions },
  )
  return { block: toBlock(header, transactions), calls }
}

/**
 * geth divides by zero if the parent is simulated too, because its extra data has no fee parameters. Here the
 * parameters of the last real block apply.
 */
function nextBaseFee({ evm, base }: Simulation, parent: BlockHeader, timestamp: number): bigint {
  try {
    return childBaseFee(evm.config, { ...parent, extraData: base.header.extraData }, timestamp)
  } catch (cause) {
    const text = `the base fee of block ${parent.number + 1} is unknown: another fork's parameters apply to it. Set baseFeePerGas`
    throw new ChainError('execution-failed', text, { cause })
  }
}

async function simulateTransaction(
  simulation: Simulation,
  env: Environment,
  request: CallRequest,
  logs: TransferLogs,
  executed: Executed,
): Promise<void> {
  const { world, block } = env
  const { from = ZERO_ADDRESS, to = null, value = 0n, data = new Uint8Array(), accessList = [] } = request
  const stateNonce = world.nonce(from)
  const { nonce = Number(stateNonce) } = request
  const remaining = block.gasLimit - executed.gasUsed
  const wanted = request.gas ?? remaining
  if (wanted > remaining) {
    throw callFailed('block-gas-limit', `block gas limit reached: remaining: ${remaining}, required: ${wanted}`)
  }
  const { gasPool } = simulation
  const isCapped = gasPool !== undefined && gasPool < wanted
  const gas = isCapped ? gasPool : wanted
  const { gasPrice, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, authorizationList } = request
  const fields = { chainId: block.chainId, from, to, nonce, gasLimit: gas, value, data }
  const fees = { maxFeePerGas, maxPriorityFeePerGas }
  const transaction =
    gasPrice !== undefined
      ? withoutSignature({ ...fields, type: 0, accessList: [], maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice })
      : authorizationList === undefined
        ? withoutSignature({ ...fields, ...fees, type: 2, accessList })
        : withoutSignature({ ...fields, ...fees, type: 4, accessList, authorizationList })
  const { gasUsed, maxUsedGas, ...outcome } = await geths(gas, async () => {
    if (simulation.request.isValidated) checkNonce(from, BigInt(nonce), stateNonce)
    return executeCall(simulation, env, request, gas)
  })
  if (simulation.gasPool !== undefined) simulation.gasPool -= gasUsed
  executed.gasUsed += gasUsed
  executed.transactions.push(transaction)
  executed.receipts.push({
    type: transaction.type,
    status: outcome.failure === undefined ? 1 : 0,
    cumulativeGasUsed: executed.gasUsed,
    logs: outcome.logs,
    logsBloom: logsBloom(outcome.logs),
  })
  const { returnData } = outcome
  let { failure } = outcome
  if (isCapped && failure !== undefined && failure !== REVERTED) failure += CAPPED
  const shown = logs.take()
  simulation.request.budget.take(
    CALL_CHARACTERS +
      2 * returnData.length +
      shown.reduce((sum, { data }) => sum + LOG_CHARACTERS + 2 * data.length, 0),
  )
  executed.calls.push({ gasUsed, maxUsedGas, returnData, logs: shown, failure })
}

/** geth's addition to a failure of a call that got less gas than it wanted. */
const CAPPED = " (gas limit was capped by the RPC server's global gas cap)"

/** Runs the call and charges its fees, if it offers a price. */
async function executeCall(simulation: Simulation, env: Environment, request: CallRequest, gas: bigint) {
  const { world, block } = env
  const { from = ZERO_ADDRESS } = request
  const isFree = !simulation.request.isValidated
  const price = gasPrices(request, block.baseFee, { isFree })
  const start = checkCall(env, request, gas, price)
  const result = await runCall(env, request, gas, start, price)
  const { gasUsed, maxUsedGas } = settleGas(start, result)
  world.addBalance(from, (gas - gasUsed) * price.effective)
  if (!isFree || price.cap > 0n) {
    world.addBalance(block.coinbase, gasUsed * (price.effective - block.baseFee))
    world.addBalance(BASE_FEE_VAULT_ADDRESS, gasUsed * block.baseFee)
    if (block.rules.isthmus) {
      // geth charges no operator fee for the gas limit, but returns the part for unused gas.
      const { operatorFee } = createFeeSchedule(world, simulation.evm.config, block.timestamp)
      world.addBalance(from, operatorFee(gas) - operatorFee(gasUsed))
      world.addBalance(OPERATOR_FEE_VAULT_ADDRESS, operatorFee(gasUsed))
    }
  }
  finishTransaction(env)
  return { ...result, gasUsed, maxUsedGas }
}

function checkNonce(from: Hex, nonce: bigint, stateNonce: bigint): void {
  if (nonce === stateNonce) return
  const isHigh = nonce > stateNonce
  const text = `address ${checksumAddress(from)}, tx: ${nonce} state: ${stateNonce}`
  throw callFailed(isHigh ? 'nonce-too-high' : 'nonce-too-low', `nonce too ${isHigh ? 'high' : 'low'}: ${text}`)
}

/** Wraps errors like geth. */
async function geths<T>(gas: bigint, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!hasCode(error, 'execution-failed')) throw error
    const { details, message } = error
    throw new ChainError('execution-failed', `err: ${message} (supplied gas ${gas})`, { details, cause: error })
  }
}

/** Jovian: computed with the L1 info of the base block. */
function footprintOf(base: Block, transactions: readonly SignedTransaction[]): bigint {
  const [first] = base.transactions
  if (first?.type !== 0x7e) {
    throw new ChainError('execution-failed', 'error calculating DA footprint: missing deposit transaction')
  }
  const { daFootprintGasScalar } = parseL1Info(first.data)
  if (daFootprintGasScalar !== undefined) {
    return transactions.reduce((sum, { raw }) => sum + BigInt(daSizeOf(raw) * daFootprintGasScalar), 0n)
  }
  if (transactions.length === 0) return 0n
  const text = 'unexpected non-deposit transactions in Jovian activation block'
  throw new ChainError('execution-failed', `error calculating DA footprint: ${text}`)
}

/** Makes simulated blocks visible to BLOCKHASH, though they are not canonical. */
function withSimulated(ancestry: Ancestry, simulated: ReadonlyMap<Hex, BlockHeader>): Ancestry {
  return {
    header: (hash) => simulated.get(hash) ?? ancestry.header(hash),
    canonicalHeader: (number) => ancestry.canonicalHeader(number),
    isCanonical: (header) => !simulated.has(header.hash) && ancestry.isCanonical(header),
  }
}

/** Like geth, simulated transactions have a signature of zeros. */
function withoutSignature(tx: Omit<SignedTransaction, keyof typeof NO_SIGNATURE | 'hash' | 'raw'>): SignedTransaction {
  const raw = encodeTransaction({ ...tx, ...NO_SIGNATURE })
  return { ...tx, ...NO_SIGNATURE, hash: keccak256Hex(raw), raw }
}

const NO_SIGNATURE = { v: 0n, r: 0n, s: 0n, yParity: 0 } as const
