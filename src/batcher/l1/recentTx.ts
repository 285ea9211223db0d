import type { Hex } from '../../lib/hex.ts'
import type { SubmitterL1 } from './submitterL1.ts'

/**
 * The L1 block that the rollup node must have reached so that it knows all of our transactions: the first in which the
 * sender's nonce has its present value, searched among the last `depth` blocks; `head - depth` when it did not change
 * in them. With depth 0 the L1 head itself.
 */
export async function findRecentTxBlock(
  l1: Pick<SubmitterL1, 'head' | 'nonceAt'>,
  address: Hex,
  depth: number,
  signal: AbortSignal,
): Promise<number> {
  const head = (await l1.head(signal)).number
  if (depth === 0) return head
  for (;;) {
    const newest = (await l1.head(signal)).number
    let low = Math.max(0, newest - depth)
    let high = newest
    const nonce = await l1.nonceAt(address, high, signal)
    if ((await l1.nonceAt(address, low, signal)) === nonce) return low
    let reorganised = false
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      const probe = await l1.nonceAt(address, middle, signal)
      // More than at a later block: the chain changed under the search.
      if (probe > nonce) {
        reorganised = true
        break
      }
      if (probe === nonce) high = middle
      else low = middle
    }
    if (!reorganised) return high
  }
}
