import type { Hex } from '../../lib/hex.ts'
import type { SubmitterL1 } from './submitterL1.ts'

/**
 * Finds the L1 block that the rollup node must have reached to know all of our transactions. That is the first block
 * with the sender's present nonce, searched among the last `depth` blocks. If the nonce did not change there, the
 * result is `head - depth`. With depth 0 it is the L1 head.
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
      // A nonce above that of a later block: the L1 reorganised during the search.
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
