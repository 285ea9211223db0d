import { fromHex, type Hex } from '../../../lib/hex.ts'
import { ZERO_ADDRESS } from '../../../rollup/protocol/types.ts'
import { contextOf, createEnvironment, type EvmModules } from '../../evm/environment.ts'
import { settleGas } from '../../evm/intrinsicGas.ts'
import { concernsChain, type Environment } from '../../evm/runMessage.ts'
import type { AccessListEntry, Authorization, BlockHeader } from '../../primitives/block.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { TransactionTracer } from '../../tracing/types.ts'
import { createAddress } from '../../tx/createAddress.ts'
import { checkCall, type GasPrices, gasPrices, runCall } from './callGas.ts'
import { applyOverrides, overriddenPrecompiles } from './stateOverrides.ts'
import type { CallPlace, CallRequest, CallResult } from './types.ts'

export interface SimulationModules extends EvmModules {
  /** A fresh state after this block. The simulation changes it. */
  worldAt(header: BlockHeader): WorldState
}

/** Outcome of one simulated transaction, and the refund that the gas search needs. */
export interface Simulated extends CallResult {
  /** Refund for cleared storage. */
  refund: bigint
}

/** The opcode loop counts gas as a number. No call runs that long. */
const UNLIMITED_GAS = BigInt(Number.MAX_SAFE_INTEGER)

export interface SimulationPlace extends Omit<CallPlace, 'blockHash'> {
  header: BlockHeader
}

/**
 * Runs a call on the state after `header`, in a block like it. Nonce, account kind and L1 fee are not checked. No
 * change is kept. Throws ChainError `execution-failed` if the call cannot start.
 */
export async function simulateCall(
  modules: SimulationModules,
  request: CallRequest,
  { header, overrides = {}, block: changed = {} }: SimulationPlace,
  client?: AbortSignal,
  tracer?: TransactionTracer,
): Promise<Simulated> {
  const world = modules.worldAt(header)
  applyOverrides(world, overrides)
  const context = { ...contextOf(header), ...changed }
  const price = gasPrices(request, context.baseFee)
  // geth shows a base fee of zero to a call without a price.
  const block = { ...context, baseFee: price.effective === 0n ? 0n : context.baseFee }
  // In a later block, BLOCKHASH reaches this block too.
  const parentHash = block.number > header.number ? header.hash : header.parentHash
  const env = createEnvironment(modules, world, block, parentHash, client)
  env.evm.substate.reached = new Map()
  env.evm.callable = overriddenPrecompiles(env.evm.precompiles, overrides)
  return run(env, request, price, tracer)
}

async function run(
  env: Environment,
  request: CallRequest,
  price: GasPrices,
  tracer: TransactionTracer | undefined,
): Promise<Simulated> {
  const { world } = env
  const { from = ZERO_ADDRESS, to = null, authorizationList: authorizations = [] } = request
  const { gas: wanted = UNLIMITED_GAS } = request
  const gas = wanted < UNLIMITED_GAS ? wanted : UNLIMITED_GAS
  const nonce = world.nonce(from)
  const start = checkCall(env, request, gas, price)
  tracer?.begin(env, { from, to, gas: wanted, authorizations })
  env.evm.tracer = tracer
  const { logs, returnData, failure, ...result } = await runCall(env, request, gas, start, price)
  const { gasUsed, refund } = settleGas(start, result)
  return {
    gasUsed,
    refund,
    returnData,
    logs: logs.map((log, logIndex) => ({ ...log, logIndex })),
    accessList: touched(env, from, to ?? createAddress(fromHex(from), nonce), authorizations),
    failure,
  }
}

/**
 * Accounts and slots that the EVM reached, without those that are warm anyway. A warm account is listed only with its
 * slots.
 */
function touched(
  { evm, block }: Environment,
  from: Hex,
  to: Hex,
  authorizations: readonly Authorization[],
): AccessListEntry[] {
  // The call has recovered their signers already, which is slow.
  const used = authorizations.filter((entry) => concernsChain(entry, block))
  const authorities = new Set(used.map(({ authority }) => authority))
  const entries: AccessListEntry[] = []
  for (const [address, slots] of evm.substate.reached ?? []) {
    const isParty = address === from || address === to || authorities.has(address)
    const warm = isParty || evm.precompiles.has(address)
    if (warm && slots.size === 0) continue
    entries.push({ address, storageKeys: [...slots] })
  }
  return entries
}
