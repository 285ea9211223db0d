import type { Hex } from '../../lib/hex.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'

/** A transaction of the account that this program did not send. */
export interface ForeignTx {
  hash: Hex
  to: Hex | undefined
  nonce: number
  blockNumber: number
}

/** L1 blocks to search. Every node keeps the states of this many blocks. */
const MAX_DEPTH = 128

export async function findTxByNonce(
  l1: Pick<SubmitterL1, 'head' | 'nonceAt' | 'transactionsOf'>,
  address: Hex,
  nonce: number,
  signal: AbortSignal,
): Promise<ForeignTx | undefined> {
  let high = (await l1.head(signal)).number
  let low = Math.max(0, high - MAX_DEPTH)
  // Binary search for the block in which the account's nonce passes `nonce`.
  if ((await l1.nonceAt(address, high, signal)) <= nonce) return undefined
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((await l1.nonceAt(address, middle, signal)) > nonce) high = middle
    else low = middle
  }
  const found = (await l1.transactionsOf(address, high, signal)).find((tx) => tx.nonce === nonce)
  return found && { ...found, blockNumber: high }
}
