import type { DepositTx } from '../types.ts'
import bundle from './karstBundle.generated.json' with { type: 'json' }
import { BUNDLE_PINS, readUpgradeBundle } from './upgradeBundle.ts'

// Karst's upgrade transactions. karstBundle.generated.json contains them as in the activation block of a recorded
// chain.

let deposits: readonly DepositTx[] | undefined

/** The deposits of Karst's bundle, in order. */
export function karstUpgradeDeposits(): readonly DepositTx[] {
  deposits ??= readUpgradeBundle({ transactions: bundle }, [BUNDLE_PINS.karst]).deposits
  return deposits
}
