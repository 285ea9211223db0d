import { isForkActivationBlock, maxSequencerDrift } from '../protocol/index.ts'
import type { Fork, L1BlockRef, RollupConfig } from '../protocol/types.ts'

/** Activation blocks of these forks hold upgrade transactions or change rules, and must have no others (specs: derivation). */
const FORKS_WITHOUT_POOL: readonly Fork[] = ['ecotone', 'fjord', 'isthmus', 'jovian', 'karst', 'lagoon']

/** Whether the block at `l2Time` may have no transactions of users: it is too far from its origin, or a fork's first. */
export function mustBeEmpty(config: RollupConfig, l2Time: number, origin: L1BlockRef): boolean {
  if (l2Time > origin.timestamp + maxSequencerDrift(config, origin.timestamp)) return true
  return FORKS_WITHOUT_POOL.some((fork) => isForkActivationBlock(config, fork, l2Time))
}
