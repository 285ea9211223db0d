import { checksumAddress } from '../../lib/checksumAddress.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { ZERO_ADDRESS } from '../../rollup/protocol/types.ts'
import { ChainError } from '../errors.ts'
import { contextOf, type EvmPool } from '../evm/evmPool.ts'
import { floorGas, intrinsicGas, MAX_INIT_CODE_BYTES } from '../evm/intrinsicGas.ts'
import type { Patience } from '../evm/patience.ts'
import { type Environment, type MessageResult, runMessage } from '../evm/runMessage.ts'
import { slotValue } from '../evm/storageWord.ts'
import type { WorldState } from '../state/worldState.ts'
import { createAddress, effectiveTip } from '../tx/decodeTransaction.ts'
import type { AccessListEntry, BlockHeader } from './block.ts'
import { failureOf } from './failure.ts'
import type {
  BlockOverrides,
  CallRequest,
  CallResult,
  ChainConfig,
  StateOverrides,
  TransactionTracer,
} from './types.ts'

export interface SimulationModules {
  evms: EvmPool
  config: ChainConfig
  /** A state of its own after this block, to be thrown away. */
  worldAt(header: BlockHeader): WorldState
}

/** Outcome of one simulated transaction, with what the search for a gas limit needs besides. */
export interface Simulated extends CallResult {
  /** Gas given back for cleared storage. */
  refund: bigint
}

/** EIP-3529. */
const MAX_REFUND_QUOTIENT = 5n
/** What the opcode loop counts; nobody waits for as much. */
const UNLIMITED_GAS = BigInt(Number.MAX_SAFE_INTEGER)

export interface SimulationPlace {
  /** The state after it. */
  header: BlockHeader
  overrides?: StateOverrides | undefined
  block?: BlockOverrides | undefined
}

/**
 * Runs a call on the state after `header`, in a block like it. Nonce, account kind and L1 fee are not looked at, and
 * nothing is kept. Throws ChainError `executionFailed` when the call cannot even start.
 */
export async function simulateCall(
  { evms, worldAt }: SimulationModules,
  request: CallRequest,
  { header, overrides = {}, block: changed = {} }: SimulationPlace,
  client?: Patience,
  tracer?: TransactionTracer,
): Promise<Simulated> {
  const world = worldAt(header)
  applyOverrides(world, overrides)
  const context = { ...contextOf(header), ...changed }
  const price = gasPrices(request, context.baseFee)
  // geth shows a base fee of zero to a call that offers no price.
  const block = { ...context, baseFee: price.effective === 0n ? 0n : context.baseFee }
  // A later block looks back over this one, too.
  using lease = evms.lease(world, block, block.number > header.number ? header.hash : header.parentHash, client)
  lease.env.evm.substate.reached = new Map()
  if (tracer === undefined) return await run(lease.env, request, price)
  const { from = ZERO_ADDRESS, to = null, gas = UNLIMITED_GAS } = request
  tracer.begin(lease.env, { from, to, gas, authorizations: [] })
  lease.env.evm.tracer = tracer
  return await run(lease.env, request, price)
}

interface GasPrices {
  effective: bigint
  cap: bigint
}

async function run(env: Environment, request: CallRequest, price: GasPrices): Promise<Simulated> {
  const { world, block } = env
  const { from = ZERO_ADDRESS, to = null, value = 0n, data = new Uint8Array() } = request
  const gas = smaller(request.gas ?? UNLIMITED_GAS, UNLIMITED_GAS)
  const { accessList = [] } = request
  const balance = world.balance(from)
  const cost = gas * price.cap + value
  if (balance < cost) {
    throw failed(
      `insufficient funds for gas * price + value: address ${checksumAddress(from)} have ${balance} want ${cost}`,
    )
  }
  const nonce = world.nonce(from)
  const isCreation = to === null
  const intrinsic = intrinsicGas({ isCreation, data, accessList, authorizationCount: 0 }, block.rules)
  const floor = floorGas(data, block.rules)
  if (gas < intrinsic) throw failed(`intrinsic gas too low: have ${gas}, want ${intrinsic}`)
  if (gas < floor) throw failed(`insufficient gas for floor data gas cost: have ${gas}, want ${floor}`)
  if (isCreation && block.rules.canyon && data.length > MAX_INIT_CODE_BYTES) {
    throw failed(`max initcode size exceeded: code size ${data.length} limit ${MAX_INIT_CODE_BYTES}`)
  }
  if (price.effective > 0n) world.addBalance(from, -(gas * price.effective))
  const result = await runMessage(env, {
    from,
    to,
    value,
    data,
    gas: gas - intrinsic,
    gasPrice: price.effective,
    accessList,
    authorizations: [],
  })
  const used = intrinsic + result.gasUsed
  const cap = used / MAX_REFUND_QUOTIENT
  const refund = result.refund < cap ? result.refund : cap
  const net = used - refund
  return {
    gasUsed: larger(net, floor),
    refund,
    returnData: result.returnData,
    logs: result.logs.map((log, logIndex) => ({ ...log, logIndex })),
    accessList: touched(env, from, to ?? createAddress(fromHex(from), nonce)),
    ...failureMember(result),
  }
}

function failureMember({ failure }: MessageResult): Pick<CallResult, 'failure'> {
  return failure === undefined ? {} : { failure: failureOf(failure) }
}

function gasPrices(request: CallRequest, baseFee: bigint): GasPrices {
  const { gasPrice, maxFeePerGas = gasPrice ?? 0n, maxPriorityFeePerGas = gasPrice ?? 0n } = request
  if (maxFeePerGas === 0n && maxPriorityFeePerGas === 0n) return { effective: 0n, cap: 0n }
  const offered = `address ${checksumAddress(request.from ?? ZERO_ADDRESS)}`
  if (maxPriorityFeePerGas > maxFeePerGas) {
    throw failed(
      `max priority fee per gas higher than max fee per gas: ${offered}, maxPriorityFeePerGas: ${maxPriorityFeePerGas}, maxFeePerGas: ${maxFeePerGas}`,
    )
  }
  if (maxFeePerGas < baseFee) {
    throw failed(
      `max fee per gas less than block base fee: ${offered}, maxFeePerGas: ${maxFeePerGas}, baseFee: ${baseFee}`,
    )
  }
  return { effective: baseFee + effectiveTip({ maxFeePerGas, maxPriorityFeePerGas }, baseFee), cap: maxFeePerGas }
}

function applyOverrides(world: WorldState, overrides: StateOverrides): void {
  for (const [key, override] of Object.entries(overrides)) {
    const address = key as Hex
    if (override.nonce !== undefined) world.setNonce(address, override.nonce)
    if (override.balance !== undefined) world.addBalance(address, override.balance - world.balance(address))
    if (override.code !== undefined) world.putCode(address, override.code)
    if (override.state !== undefined) world.clearStorage(address)
    for (const [slot, word] of Object.entries(override.state ?? override.stateDiff ?? {})) {
      world.putStorage(address, slot as Hex, slotValue(word))
    }
  }
  world.endTransaction()
}

/** What the EVM reached, without what is warm anyway; accounts that are so stay only for their slots. */
function touched({ evm }: Environment, from: Hex, to: Hex): AccessListEntry[] {
  const entries: AccessListEntry[] = []
  for (const [address, slots] of evm.substate.reached ?? []) {
    const warm = address === from || address === to || evm.precompiles.has(address)
    if (warm && slots.size === 0) continue
    entries.push({ address, storageKeys: [...slots] })
  }
  return entries
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function larger(a: bigint, b: bigint): bigint {
  if (a < b) return b
  return a
}

function failed(message: string): ChainError {
  return new ChainError('executionFailed', message)
}
