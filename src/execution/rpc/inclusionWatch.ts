import type { Hex } from '../../lib/hex.ts'
import type { Chain } from '../chain/opChain.ts'

/** Calls `onIncluded` when a transaction may have entered the canonical chain. Returns a function that ends it. */
export type WatchInclusion = (hash: Hex, onIncluded: () => void) => () => void

/** One listener for all waiting calls: each new block is read once, however many calls wait. */
export function createInclusionWatch(chain: Pick<Chain, 'onHead' | 'cachedBlock'>): WatchInclusion {
  const watched = new Map<Hex, Set<() => void>>()
  chain.onHead(({ added }) => {
    if (watched.size === 0) return
    for (const { hash } of added) {
      const block = chain.cachedBlock(hash)
      // A block of a long branch may not be in memory any more. Then each call looks for its transaction.
      const included = block === undefined ? [...watched.keys()] : block.transactions.map((found) => found.hash)
      for (const transaction of included) for (const notify of watched.get(transaction) ?? []) notify()
    }
  })
  return (hash, onIncluded) => {
    const listeners = watched.get(hash) ?? new Set()
    watched.set(hash, listeners.add(onIncluded))
    return () => {
      listeners.delete(onIncluded)
      if (listeners.size === 0) watched.delete(hash)
    }
  }
}
