import type { EVM } from '@ethereumjs/evm'
import { Address } from '@ethereumjs/util'
import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { ZERO_ADDRESS } from '../../rollup/protocol/types.ts'
import type { AccessListEntry, Authorization, Log } from '../chain/block.ts'
import type { Rules } from '../chain/chainConfig.ts'
import type { WorldState } from '../state/worldState.ts'
import { DELEGATION_PREFIX, isDelegation } from './delegation.ts'
import type { OpEvm } from './opEvm.ts'

/** The block that a message runs in. */
export interface BlockContext {
  chainId: bigint
  number: number
  timestamp: number
  coinbase: Hex
  prevRandao: Hex
  gasLimit: bigint
  baseFee: bigint
  rules: Rules
}

/** A call or creation at depth 0, fees aside. */
export interface Message {
  from: Hex
  /** null: creation. */
  to: Hex | null
  value: bigint
  data: Uint8Array
  /** For execution, intrinsic gas already taken off. */
  gas: bigint
  /** What GASPRICE gives. */
  gasPrice: bigint
  accessList: readonly AccessListEntry[]
  authorizations: readonly Authorization[]
}

export interface MessageResult {
  gasUsed: bigint
  /** Before the cap of a fifth of all gas used. */
  refund: bigint
  returnData: Uint8Array
  logs: Omit<Log, 'logIndex'>[]
  /** Absent on success: EthereumJS's error text, or geth's where it tells more. */
  failure?: string
}

export interface Environment {
  world: WorldState
  evm: OpEvm
  block: BlockContext
}

/**
 * Runs the message: the sender's nonce goes up, warm addresses are set, EIP-7702 authorizations applied, then the EVM
 * runs. The caller has checked funds and sizes, and calls `finishTransaction` once fees are settled.
 */
export async function runMessage(env: Environment, message: Message): Promise<MessageResult> {
  const { world, evm, block } = env
  world.setNonce(message.from, world.nonce(message.from) + 1n)
  warmUp(env, message)
  const authorizationRefund = await applyAuthorizations(env, message)
  const caller = toAddress(message.from)
  evm.evm.failureText = undefined
  const result = await evm.evm.runCall({
    block: toEvmBlock(block),
    gasPrice: message.gasPrice,
    caller,
    origin: caller,
    gasLimit: message.gas,
    ...(message.to === null ? {} : { to: toAddress(message.to) }),
    value: message.value,
    data: message.data,
    skipNonceIncrement: true,
  })
  const { execResult } = result
  for (const address of execResult.selfdestruct?.keys() ?? []) {
    // EIP-6780: from Cancun only contracts made by this transaction go away.
    if (block.rules.ecotone && !execResult.createdAddresses?.has(address as Hex)) continue
    world.deleteAccount(address as Hex)
  }
  const outcome: MessageResult = {
    gasUsed: execResult.executionGasUsed,
    refund: authorizationRefund + (execResult.gasRefund ?? 0n),
    returnData: execResult.returnValue,
    logs: (execResult.logs ?? []).map(([address, topics, data]) => ({
      address: toHex(address),
      topics: topics.map(toHex),
      data,
    })),
  }
  if (execResult.exceptionError !== undefined) outcome.failure = evm.evm.failureText ?? execResult.exceptionError.error
  return outcome
}

/** Deletes what was touched and is empty (EIP-161) and ends the transaction's scope. */
export async function finishTransaction(env: Environment, credited: readonly Hex[]): Promise<void> {
  for (const address of credited) env.world.deleteIfEmpty(address)
  await env.evm.evm.journal.cleanup()
  env.world.endTransaction()
}

function warmUp({ evm, block }: Environment, message: Message): void {
  const { journal, precompiles } = evm.evm
  journal.cleanJournal()
  journal.addAlwaysWarmAddress(message.from)
  if (message.to !== null) journal.addAlwaysWarmAddress(message.to)
  // EIP-3651
  if (block.rules.canyon) journal.addAlwaysWarmAddress(block.coinbase)
  for (const address of precompiles.keys()) journal.addAlwaysWarmAddress(address)
  for (const { address, storageKeys } of message.accessList) {
    journal.addAlwaysWarmAddress(address)
    for (const key of storageKeys) journal.addAlwaysWarmSlot(address, key)
  }
}

/** Signers recovered before the event loop is thought of: 3 ms. */
const AUTHORIZATIONS_PER_TURN = 64
const PER_EMPTY_ACCOUNT_COST = 25_000n
const PER_AUTH_BASE_COST = 12_500n
const MAX_NONCE = 2n ** 64n - 1n

/** EIP-7702: sets the delegations; entries that do not hold are passed over. Returns the refund. */
async function applyAuthorizations({ world, evm, block }: Environment, message: Message): Promise<bigint> {
  let refund = 0n
  for (const [index, authorization] of message.authorizations.entries()) {
    if (index % AUTHORIZATIONS_PER_TURN === AUTHORIZATIONS_PER_TURN - 1) await evm.evm.takeTurn()
    const { chainId, address, nonce } = authorization
    if (chainId !== 0n && chainId !== block.chainId) continue
    if (nonce >= MAX_NONCE) continue
    const { authority } = authorization
    if (authority === undefined) continue
    evm.evm.journal.addAlwaysWarmAddress(authority)
    const code = world.code(authority)
    if (code.length > 0 && !isDelegation(code)) continue
    const account = world.account(authority)
    if ((account?.nonce ?? 0n) !== nonce) continue
    if (account !== undefined) refund += PER_EMPTY_ACCOUNT_COST - PER_AUTH_BASE_COST
    world.putCode(authority, address === ZERO_ADDRESS ? EMPTY_BYTES : concatBytes(DELEGATION_PREFIX, fromHex(address)))
    world.setNonce(authority, nonce + 1n)
  }
  return refund
}

export function toAddress(address: Hex): Address {
  return new Address(fromHex(address, 20, 'address'))
}

type EvmBlock = NonNullable<Parameters<EVM['runCall']>[0]['block']>

export function toEvmBlock(block: BlockContext): EvmBlock {
  return {
    header: {
      number: BigInt(block.number),
      coinbase: toAddress(block.coinbase),
      timestamp: BigInt(block.timestamp),
      difficulty: 0n,
      prevRandao: fromHex(block.prevRandao, 32, 'prevRandao'),
      gasLimit: block.gasLimit,
      baseFeePerGas: block.baseFee,
      // Specs, ecotone/exec-engine: BLOBBASEFEE pushes 1.
      getBlobGasPrice: () => 1n,
    },
  }
}
