import { DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { SubmitterL1 } from './submitterL1.ts'

/**
 * Finds the first block after `low` with at least this nonce of the account. The block `high` must have it. A reorg during
 * the search may make the result wrong.
 */
export async function firstBlockWithNonce(
  l1: Pick<SubmitterL1, 'nonceAt'>,
  address: Hex,
  nonce: number,
  { low, high }: { low: number; high: number },
  signal: AbortSignal,
): Promise<number> {
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((await l1.nonceAt(address, middle, signal)) >= nonce) high = middle
    else low = middle
  }
  return high
}

/**
 * Finds the L1 block that the rollup node must have reached to know all of our transactions. That is the first block
 * with the sender's present nonce, searched among the last `depth` blocks. If the nonce did not change there, the
 * result is `head - depth`. With depth 0 it is the L1 head. Throws DeviumError `l1-inconsistent` after an L1 reorg.
 */
export async function findRecentTxBlock(
  l1: Pick<SubmitterL1, 'head' | 'nonceAt'>,
  address: Hex,
  depth: number,
  signal: AbortSignal,
): Promise<number> {
  const { number: high } = await l1.head(signal)
  if (depth === 0) return high
  const low = Math.max(0, high - depth)
  const nonce = await l1.nonceAt(address, high, signal)
  if ((await l1.nonceAt(address, low, signal)) === nonce) return low
  const found = await firstBlockWithNonce(l1, address, nonce, { low, high }, signal)
  if ((await l1.nonceAt(address, found, signal)) === nonce) return found
  throw new DeviumError('l1-inconsistent', 'the nonces of L1 blocks changed during a search: it reorganised')
}
