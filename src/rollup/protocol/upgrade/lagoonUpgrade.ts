import { concatBytes } from '../../../lib/bytes.ts'
import { DeviumError } from '../../../lib/errors.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { DEPOSITOR_ACCOUNT, ETH_LIQUIDITY_ADDRESS, L1_BLOCK_ADDRESS } from '../constants.ts'
import { upgradeSourceHash } from '../transaction/sourceHash.ts'
import type { DepositTx, RollupConfig } from '../types.ts'
import { BUNDLE_PINS } from './upgradeBundle.ts'

// The deposits of Lagoon's activation block (specs: lagoon/derivation). Its bundle is published as a file, not built
// in, so the operator must give it.

const SET_FEATURE_GAS = 100_000n
const FUND_GAS = 50_000n
const MAX_U128 = 2n ** 128n - 1n

/** Added on every chain, even where the two interop deposits are omitted. */
export const LAGOON_UPGRADE_GAS = BUNDLE_PINS.lagoon.gas + SET_FEATURE_GAS + FUND_GAS

/**
 * Throws DeviumError (`upgrade-bundle-missing`, temporary) if the config lacks the bundle. The node keeps running to
 * report this.
 */
export function lagoonUpgradeDeposits({ lagoonBundle, dependencySet = [] }: RollupConfig): readonly DepositTx[] {
  if (lagoonBundle === undefined)
    throw new DeviumError('upgrade-bundle-missing', MISSING_BUNDLE_TEXT, { severity: 'temporary' })
  return dependencySet.length > 1 ? [setInterop(), ...lagoonBundle, fundLiquidity()] : lagoonBundle
}

/** A sentence without its full stop. */
export const MISSING_BUNDLE_TEXT =
  "Lagoon's activation block needs the published upgrade bundle: pass it with --rollup.upgrade-bundle, or read it from a node that has the block with `devium bundle from-block`"

/** The activation time for which the config lacks the bundle; undefined if the bundle is present or not needed. */
export function bundleNeededAt(config: Pick<RollupConfig, 'forks' | 'genesis' | 'lagoonBundle'>): number | undefined {
  const { lagoon } = config.forks
  if (lagoon === undefined || config.lagoonBundle !== undefined || lagoon <= config.genesis.l2Time) return undefined
  return lagoon
}

function setInterop(): DepositTx {
  const feature = new Uint8Array(32)
  feature.set(new TextEncoder().encode('INTEROP'))
  return {
    ...call('Interop pre: setFeature(INTEROP)', 'setFeature(bytes32)', feature),
    to: L1_BLOCK_ADDRESS,
    gas: SET_FEATURE_GAS,
  }
}

function fundLiquidity(): DepositTx {
  return {
    ...call('Interop post: ETHLiquidity Funding', 'fund()', new Uint8Array(0)),
    to: ETH_LIQUIDITY_ADDRESS,
    mint: MAX_U128,
    value: MAX_U128,
    gas: FUND_GAS,
  }
}

function call(intent: string, signature: string, parameters: Uint8Array): Omit<DepositTx, 'to' | 'gas'> {
  return {
    sourceHash: upgradeSourceHash(intent),
    from: DEPOSITOR_ACCOUNT,
    mint: 0n,
    value: 0n,
    isSystemTx: false,
    data: concatBytes(keccak256(new TextEncoder().encode(signature)).subarray(0, 4), parameters),
  }
}
