import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'

/** op-node: heights remembered, and different blocks of one height after which further ones are rejected. */
const MAX_HEIGHTS = 1000
const MAX_BLOCKS_PER_HEIGHT = 5

/** Which blocks passed validation at each height, so that a sequencer that signs many at one height is cut off. */
export type SeenBlocks = ReturnType<typeof createSeenBlocks>

export function createSeenBlocks() {
  const heights = new LruMap<number, Hex[]>(MAX_HEIGHTS)
  return {
    /** `too-many` comes first: once more than five are recorded, even a known hash is rejected (op-node's order). */
    check(number: number, hash: Hex): 'new' | 'seen' | 'too-many' {
      const hashes = heights.get(number) ?? []
      if (hashes.length > MAX_BLOCKS_PER_HEIGHT) return 'too-many'
      return hashes.includes(hash) ? 'seen' : 'new'
    },
    record: (number: number, hash: Hex): void => heights.set(number, [...(heights.get(number) ?? []), hash]),
  }
}
