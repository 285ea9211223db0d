import { checksumAddress } from '../../../lib/checksumAddress.ts'
import type { Hex } from '../../../lib/hex.ts'
import { ChainError } from '../../errors.ts'
import type { OpEvm } from '../../evm/opEvm.ts'
import { slotValue } from '../../evm/storageWord.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { StateOverrides } from './types.ts'

/** Changes accounts as an earlier transaction would. */
export function applyOverrides(world: WorldState, overrides: StateOverrides): void {
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

/**
 * The precompiles after the overrides. Like in geth, an overridden precompile is replaced by the account's code and may
 * be moved to another address. Throws ChainError `execution-failed` with geth's message for an impossible move.
 */
export function overriddenPrecompiles(
  precompiles: OpEvm['precompiles'],
  overrides: StateOverrides,
): OpEvm['precompiles'] {
  const left = new Map(precompiles)
  const targets = new Set<string>()
  for (const [key, { movePrecompileTo: target }] of Object.entries(overrides).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const address = key as Hex
    if (targets.has(address)) {
      throw refused(`account ${checksumAddress(address)} has already been overridden by a precompile`)
    }
    // A precompile that was moved here replaces the account.
    const precompile = left.get(address)
    if (target !== undefined) {
      if (precompile === undefined) throw refused(`account ${checksumAddress(address)} is not a precompile`)
      if (target in overrides) throw refused(`account ${checksumAddress(target)} is already overridden`)
      left.set(target, precompile)
      targets.add(target)
    }
    left.delete(address)
  }
  return left
}

function refused(message: string): ChainError {
  return new ChainError('execution-failed', message)
}
