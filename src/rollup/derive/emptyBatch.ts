import type { SingularBatch } from '../protocol/index.ts'
import type { L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { DerivationError } from './errors.ts'
import type { L1Window } from './l1Window.ts'

/**
 * The empty batch that replaces missing batches after the sequencing window has passed (specs: derivation, "Batch
 * Queue"). Call it only if no batch fits. Returns undefined if no empty batch is due. In this case it may have moved
 * the window to the next epoch; then call it again.
 */
export function nextEmptyBatch(
  window: L1Window,
  parent: L2BlockRef,
  { config, outOfData }: { config: RollupConfig; outOfData: boolean },
): SingularBatch | undefined {
  const [epoch, nextEpoch] = window.blocks
  if (epoch === undefined) return undefined
  const expiry = epoch.number + config.seqWindowSize
  const isExpired = expiry < window.origin.number || (expiry === window.origin.number && outOfData)
  // The next L1 block determines how long this epoch lasts.
  if (!isExpired || nextEpoch === undefined) return undefined

  const timestamp = parent.timestamp + config.blockTime
  const isFirstOfEpoch = epoch.number === parent.l1Origin.number + 1
  // Each epoch has at least one block, and L2 time does not fall behind L1 time.
  if (timestamp < nextEpoch.timestamp || isFirstOfEpoch) {
    return {
      type: 'singular',
      parentHash: parent.hash,
      epochNumber: epoch.number,
      epochHash: epoch.hash,
      timestamp,
      transactions: [],
    }
  }
  window.dropFirst()
  return undefined
}

/**
 * The window must begin with the parent's L1 origin. If empty batches filled a whole epoch, it may also begin with the
 * next L1 block.
 */
export function checkWindow(window: L1Window, parent: L2BlockRef): void {
  const [epoch] = window.blocks
  if (epoch === undefined) {
    throw new DerivationError('derivation-invariant', 'reset', 'no L1 block is known as origin of the next L2 block')
  }
  if (parent.l1Origin.hash === epoch.hash || parent.l1Origin.number === epoch.number - 1) return
  throw new DerivationError(
    'pipeline-mismatch',
    'reset',
    `L1 blocks begin at ${epoch.number} (${epoch.hash}), the L2 head has origin ${parent.l1Origin.number} (${parent.l1Origin.hash})`,
  )
}
