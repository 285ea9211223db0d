import { TxPoolError } from './errors.ts'
import type { PoolEntry } from './senderQueue.ts'

/**
 * Most replacements in a row that the next block could not include. They cost their sender nothing. geth has no such
 * limit; it only requires higher fees.
 */
const MAX_FREE_REPLACEMENTS = 16

/**
 * Checks that `next` may replace a transaction with the same nonce: both fee caps must be higher by the percentage at
 * least. Counts free replacements in `next`. Throws TxPoolError.
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
