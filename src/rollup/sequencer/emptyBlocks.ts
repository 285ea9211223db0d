import { isForkActivationBlock, maxSequencerDrift } from '../protocol/index.ts'
import type { Fork, L1BlockRef, RollupConfig } from '../protocol/types.ts'

/**
 * The activation blocks of these forks contain upgrade transactions or change rules, and must not contain user
 * transactions (specs: derivation).
 */
const FORKS_WITHOUT_POOL: readonly Fork[] = ['ecotone', 'fjord', 'isthmus', 'jovian', 'karst', 'lagoon']

/**
 * Whether the block at `l2Time` must not contain user transactions: it is past the sequencer drift, or a fork's first
 * block.
 */
export function mustBeEmpty(config: RollupConfig, l2Time: number, origin: L1BlockRef): boolean {
  if (l2Time > origin.timestamp + maxSequencerDrift(config, origin.timestamp)) return true
  return FORKS_WITHOUT_POOL.some((fork) => isForkActivationBlock(config, fork, l2Time))
}
