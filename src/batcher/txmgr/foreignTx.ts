import type { Hex } from '../../lib/hex.ts'
import { firstBlockWithNonce } from '../l1/recentTx.ts'
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
  const { number: head } = await l1.head(signal)
  if ((await l1.nonceAt(address, head, signal)) <= nonce) return undefined
  const range = { low: Math.max(0, head - MAX_DEPTH), high: head }
  const blockNumber = await firstBlockWithNonce(l1, address, nonce + 1, range, signal)
  const found = (await l1.transactionsOf(address, blockNumber, signal)).find((tx) => tx.nonce === nonce)
  return found && { ...found, blockNumber }
}
