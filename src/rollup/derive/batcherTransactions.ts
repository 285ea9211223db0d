import type { Hex } from '../../lib/hex.ts'
import { BLOB_TX_TYPE, DEPOSIT_TX_TYPE, isForkActive } from '../protocol/index.ts'
import type { L1Transaction, RollupConfig } from '../protocol/types.ts'

export type BatcherData = { kind: 'calldata'; data: Uint8Array } | { kind: 'blobs'; versionedHashes: readonly Hex[] }

/**
 * Legacy, 2930, 1559 and blob transactions, and deposits if L1 is an OP Stack chain. Set-code transactions do not
 * count.
 */
const BATCHER_TX_TYPES: ReadonlySet<number> = new Set([0, 1, 2, BLOB_TX_TYPE, DEPOSIT_TX_TYPE])

/**
 * The batcher data of an L1 block, in the order of the transactions. Selects transactions to the batch inbox that the
 * SystemConfig's batcher signed (specs: derivation, "L1 Retrieval"; ecotone/derivation, "Ecotone: Blob Retrieval").
 */
export function batcherDataOf(
  transactions: readonly L1Transaction[],
  { config, batcherAddress, l1Time }: { config: RollupConfig; batcherAddress: Hex; l1Time: number },
): BatcherData[] {
  const readsBlobs = isForkActive(config, 'ecotone', l1Time)
  const found: BatcherData[] = []
  for (const transaction of transactions) {
    if (transaction.to !== config.batchInboxAddress || !BATCHER_TX_TYPES.has(transaction.type)) continue
    if (transaction.from !== batcherAddress) continue
    if (readsBlobs && transaction.type === BLOB_TX_TYPE) {
      // The calldata of a blob transaction are ignored.
      found.push({ kind: 'blobs', versionedHashes: transaction.blobVersionedHashes ?? [] })
    } else {
      found.push({ kind: 'calldata', data: transaction.input })
    }
  }
  return found
}
