import type { Hex } from '../../lib/hex.ts'
import { BLOB_TX_TYPE } from '../../rollup/protocol/index.ts'
import type { L1BlockRef, L1Transaction } from '../../rollup/protocol/types.ts'
import type { BeaconClient } from './beaconClient.ts'

export interface BlobsAhead extends Pick<BeaconClient, 'blobs'> {
  /** Reports a block that derivation will read soon, with its transactions. */
  onBlock(block: L1BlockRef, transactions: readonly L1Transaction[]): void
}

interface Posted {
  block: L1BlockRef
  transactions: { from: () => Hex; hashes: readonly Hex[] }[]
  started: boolean
}

/** 12.6 MB, less than the cache of the beacon client. */
const MAX_BLOBS = 96
/** A chain whose batches are calldata never reads blobs, and anybody may post some. */
const MAX_POSTED_BLOCKS = 512

/**
 * Prefetches the blobs of blocks that derivation will read soon. Anybody may post blobs to the batch inbox. The first
 * requested blobs show which sender is the batcher; only its blobs are prefetched.
 */
export function createBlobsAhead(
  beacon: Pick<BeaconClient, 'blobs' | 'prefetch'>,
  { batchInbox }: { batchInbox: Hex },
): BlobsAhead {
  const posted = new Map<number, Posted>()
  let batcher: Hex | undefined
  let readUpTo = -1

  const fetchNext = (): void => {
    if (batcher === undefined) return
    let blobs = 0
    for (const number of [...posted.keys()].sort((a, b) => a - b)) {
      const item = posted.get(number)
      if (item === undefined) continue
      if (number <= readUpTo) {
        posted.delete(number)
        continue
      }
      const hashes = item.transactions.flatMap((transaction) =>
        transaction.from() === batcher ? transaction.hashes : [],
      )
      blobs += hashes.length
      if (blobs > MAX_BLOBS) return
      if (item.started || hashes.length === 0) continue
      item.started = true
      void beacon.prefetch(item.block, hashes)
    }
  }

  return {
    onBlock(block, transactions) {
      const found = transactions
        .filter(({ type, to }) => type === BLOB_TX_TYPE && to === batchInbox)
        .map((transaction) => ({ from: () => transaction.from, hashes: transaction.blobVersionedHashes ?? [] }))
      if (found.length === 0) return
      // After a reset, derivation reads earlier blocks again.
      readUpTo = Math.min(readUpTo, block.number - 1)
      posted.set(block.number, { block, transactions: found, started: false })
      if (posted.size > MAX_POSTED_BLOCKS) posted.delete(Math.min(...posted.keys()))
      fetchNext()
    },
    blobs(block, versionedHashes) {
      const here = posted.get(block.number)
      const [first] = versionedHashes
      const own = here?.transactions.find(({ hashes }) => first !== undefined && hashes.includes(first))
      if (here?.block.hash === block.hash && own !== undefined) batcher = own.from()
      readUpTo = block.number
      fetchNext()
      return beacon.blobs(block, versionedHashes)
    },
  }
}
