import { TxPoolError } from './errors.ts'
import type { PoolEntry } from './senderQueue.ts'

/**
 * How often a transaction may be replaced by ones that the next block could not take: those cost their sender nothing. geth
 * has no such bound, only that each offers more.
 */
const MAX_FREE_REPLACEMENTS = 16

/**
 * Counts in `next` how often it was replaced for nothing. Throws TxPoolError where it may not take the place of a transaction
 * with its nonce: both its caps have to be higher, by the percentage at least.
 */
export function checkReplacement(
  previous: PoolEntry,
  next: PoolEntry,
  nextBaseFee: bigint,
  priceBumpPercent: bigint,
): void {
  const old = previous.transaction
  const { maxFeePerGas, maxPriorityFeePerGas } = next.transaction
  const enough = (before: bigint, after: bigint) =>
    after > before && after >= (before * (100n + priceBumpPercent)) / 100n
  if (!enough(old.maxFeePerGas, maxFeePerGas) || !enough(old.maxPriorityFeePerGas, maxPriorityFeePerGas)) {
    throw new TxPoolError('replacement-underpriced')
  }
  if (old.maxFeePerGas >= nextBaseFee) return
  next.freeReplacements = previous.freeReplacements + 1
  if (next.freeReplacements > MAX_FREE_REPLACEMENTS) {
    const text = `replaced ${MAX_FREE_REPLACEMENTS} times below the base fee`
    throw new TxPoolError('replacement-underpriced', text)
  }
}
