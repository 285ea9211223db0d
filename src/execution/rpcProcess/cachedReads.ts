import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { ChainReads, TransactionPosition } from '../chain/storage/chainReads.ts'
import type { StateView } from '../state/stateDatabase.ts'
import { ROOT_KEY } from '../state/stateKeys.ts'
import type { LabelHashes } from './labelsFile.ts'

const MAX_HASHES = 10_000
const MAX_TRANSACTIONS = 10_000
/** Together at most 8 MB. */
const MAX_RECEIPTS = 256
const MAX_RECEIPTS_BYTES = 32 * 1024
const MAX_ROOTS = 64
const MAX_AHEAD = 1_000

/**
 * Caches reads that cannot have changed. Each read from the engine process takes 100 µs. A block after the last one is
 * read together with those after it, because a search for logs reads thousands in a row.
 */
export function cacheReads(reads: ChainReads, labels: () => Pick<LabelHashes, 'version' | 'reorgs'>): ChainReads {
  const canonical = new LruMap<number, Hex>(MAX_HASHES)
  const positions = new LruMap<Hex, TransactionPosition>(MAX_TRANSACTIONS)
  const receipts = new LruMap<Hex, Uint8Array>(MAX_RECEIPTS)
  /** Root nodes by block. */
  const roots = new LruMap<Hex, Uint8Array>(MAX_ROOTS)
  /** Headers that were read with those before them. */
  const ahead = new LruMap<Hex, Uint8Array>(MAX_AHEAD)
  let lastRead = -1
  const readCanonical = (number: number): Hex | undefined => {
    const found = number === lastRead + 1 ? reads.canonicalHeaders?.(number) : undefined
    lastRead = number + Math.max(1, found?.length ?? 0) - 1
    if (found === undefined) return reads.canonicalHash(number)
    for (const [offset, { hash, header }] of found.entries()) {
      canonical.set(number + offset, hash)
      ahead.set(hash, header)
    }
    return found[0]?.hash
  }
  let before = labels()
  const forgetChanges = (): void => {
    const now = labels()
    if (now.reorgs !== before.reorgs) {
      canonical.clear()
      positions.clear()
    }
    // A forkchoice may prune states.
    if (now.version !== before.version) roots.clear()
    before = now
  }
  const cached = <K, V>(known: LruMap<K, V>, key: K, read: () => V | undefined, mayKeep = (_: V) => true) => {
    forgetChanges()
    const hit = known.get(key)
    if (hit !== undefined) return hit
    const found = read()
    if (found !== undefined && mayKeep(found)) known.set(key, found)
    return found
  }
  return {
    ...reads,
    canonicalHash: (number) => cached(canonical, number, () => readCanonical(number)),
    header: (hash) => ahead.get(hash) ?? reads.header(hash),
    transaction: (hash) => cached(positions, hash, () => reads.transaction(hash)),
    receipts: (hash) =>
      cached(
        receipts,
        hash,
        () => reads.receipts(hash),
        ({ length }) => length <= MAX_RECEIPTS_BYTES,
      ),
    // Each call checks that the root of its state exists.
    stateAt(blockHash) {
      const view = reads.stateAt(blockHash)
      if (view === undefined) return undefined
      const node: StateView['node'] = (key, hash) =>
        key === ROOT_KEY ? cached(roots, blockHash, () => view.node(key, hash)) : view.node(key, hash)
      return { ...view, node }
    },
  }
}
