import { isForkActivationBlock } from '../protocol/index.ts'
import type { Fork, RollupConfig } from '../protocol/types.ts'
import { DerivationError } from './errors.ts'

/** Forks whose activation block deploys contracts by deposits of its own. */
const FORKS_WITH_UPGRADES: readonly Fork[] = ['ecotone', 'fjord', 'isthmus', 'jovian', 'karst', 'interop']

/** Critical at an activation block whose deposits are not known here: any other block would split the chain. */
export function refuseUpgrades(config: RollupConfig, timestamp: number): void {
  const fork = FORKS_WITH_UPGRADES.find((name) => isForkActivationBlock(config, name, timestamp))
  if (fork === undefined) return
  throw new DerivationError(
    'upgrade-unavailable',
    'critical',
    `the ${fork} upgrade at time ${timestamp} needs the bytecode of its predeploys, which this build does not carry`,
  )
}
