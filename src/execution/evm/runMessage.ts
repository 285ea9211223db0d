import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { fromHex, toHex } from '../../lib/hex.ts'
import { ZERO_ADDRESS } from '../../rollup/protocol/types.ts'
import type { Authorization } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import { DELEGATION_PREFIX, isDelegation } from './delegation.ts'
import { Substate } from './interpreter/substate.ts'
import type { BlockContext, Message, MessageResult } from './message.ts'
import type { OpEvm } from './opEvm.ts'

export interface Environment {
  world: WorldState
  evm: OpEvm
  block: BlockContext
}

/**
 * Runs the message: increments the sender's nonce, sets warm addresses, applies EIP-7702 authorizations, then runs the
 * EVM. The caller has checked funds and sizes. It calls `finishTransaction` after it charged the fees.
 */
export async function runMessage(env: Environment, message: Message): Promise<MessageResult> {
  const { world, evm, block } = env
  const nonce = world.nonce(message.from)
  world.setNonce(message.from, nonce + 1n)
  warmUp(env, message)
  const authorizationRefund = message.authorizations.length === 0 ? 0n : await applyAuthorizations(env, message)
  warmDelegate(env, message)
  const { gasUsed, output, failure } = await evm.run({ ...message, nonce }, block)
  const { substate } = evm
  for (const address of substate.destroyed) world.deleteAccount(address)
  return {
    gasUsed,
    refund: authorizationRefund + BigInt(substate.refund),
    returnData: output,
    logs: substate.logs,
    ...(failure === undefined ? {} : { failure }),
  }
}

/** Deletes touched empty accounts (EIP-161) and ends the transaction's scope. */
export function finishTransaction({ world, evm }: Environment): void {
  world.deleteTouchedEmpty()
  world.endTransaction()
  evm.substate = new Substate()
}

/** Reverts the current transaction, whose execution has thrown. */
export function abandonTransaction({ world, evm }: Environment): void {
  world.abandonTransaction()
  evm.substate = new Substate()
}

function warmUp({ evm, block }: Environment, message: Message): void {
  const { substate } = evm
  // Added directly, because no frame reverts them.
  const { warmAddresses } = substate
  warmAddresses.add(message.from)
  if (message.to !== null) warmAddresses.add(message.to)
  // EIP-3651
  if (block.rules.canyon) warmAddresses.add(block.coinbase)
  for (const address of evm.precompiles.keys()) warmAddresses.add(address)
  const { reached } = substate
  substate.reached = undefined
  for (const { address, storageKeys } of message.accessList) {
    substate.warmAddress(address)
    for (const key of storageKeys) substate.warmSlot(address, key)
  }
  substate.reached = reached
}

/** EIP-7702: the transaction's intrinsic gas pays for the access to the recipient's delegate. */
function warmDelegate({ world, evm, block }: Environment, { to }: Message): void {
  if (to === null || !block.rules.isthmus) return
  const code = world.code(to)
  if (isDelegation(code)) evm.substate.warmAddresses.add(toHex(code.subarray(3)))
}

/** Whether an entry applies to this chain. The signers of other entries are not recovered. */
export function concernsChain({ chainId, nonce }: Authorization, block: Pick<BlockContext, 'chainId'>): boolean {
  return (chainId === 0n || chainId === block.chainId) && nonce < MAX_NONCE
}

/** Signers recovered between two yields: 3 ms. */
const AUTHORIZATIONS_PER_YIELD = 64
const PER_EMPTY_ACCOUNT_COST = 25_000n
const PER_AUTH_BASE_COST = 12_500n
const MAX_NONCE = 2n ** 64n - 1n

/** EIP-7702: sets the delegations and skips invalid entries. Returns the refund. */
async function applyAuthorizations({ world, evm, block }: Environment, message: Message): Promise<bigint> {
  let refund = 0n
  for (const [index, authorization] of message.authorizations.entries()) {
    if (index % AUTHORIZATIONS_PER_YIELD === AUTHORIZATIONS_PER_YIELD - 1) await evm.yieldToLoop()
    if (!concernsChain(authorization, block)) continue
    const { address, nonce, authority } = authorization
    if (authority === undefined) continue
    evm.substate.warmAddresses.add(authority)
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
