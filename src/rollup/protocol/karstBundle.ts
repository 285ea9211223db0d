import { fromHex, type Hex } from '../../lib/hex.ts'
import type { DepositTx } from './deposit.ts'
import bundle from './karstBundle.generated.json' with { type: 'json' }

// Karst's upgrade transactions (specs: karst/derivation; bundle format 1.0.0). karstBundle.generated.json holds them as the activation
// block of a recorded chain does, source hashes included: domain 2, intent `Karst <index>: <intent>`.

interface BundleTransaction {
  sourceHash: string
  from: string
  to: string
  gas: number
  data: string
}

const TRANSACTIONS: readonly BundleTransaction[] = bundle

/** Gas that the activation block has on top of the configured limit: that of all transactions of the bundle. */
export const KARST_UPGRADE_GAS = BigInt(TRANSACTIONS.reduce((sum, { gas }) => sum + gas, 0))

/** The deposits of the bundle, in order. */
export function karstUpgradeDeposits(): DepositTx[] {
  return TRANSACTIONS.map(({ sourceHash, from, to, gas, data }) => ({
    sourceHash: sourceHash as Hex,
    from: from as Hex,
    to: to as Hex,
    mint: 0n,
    value: 0n,
    gas: BigInt(gas),
    isSystemTx: false,
    data: fromHex(data),
  }))
}
