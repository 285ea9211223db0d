import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'

/**
 * op-node's values. After more than `MAX_BLOCKS_PER_HEIGHT` different blocks at one height, further ones are rejected.
 */
const MAX_HEIGHTS = 1000
const MAX_BLOCKS_PER_HEIGHT = 5

/** Validated blocks by height. Limits a sequencer that signs many blocks at one height. */
export type SeenBlocks = ReturnType<typeof createSeenBlocks>

export function createSeenBlocks() {
  const heights = new LruMap<number, Hex[]>(MAX_HEIGHTS)
  return {
    /**
     * `too-many` takes precedence: with more than five recorded blocks even a known hash is rejected (op-node's order).
     */
    check(number: number, hash: Hex): 'new' | 'seen' | 'too-many' {
      const hashes = heights.get(number) ?? []
      if (hashes.length > MAX_BLOCKS_PER_HEIGHT) return 'too-many'
      return hashes.includes(hash) ? 'seen' : 'new'
    },
    record: (number: number, hash: Hex): void => heights.set(number, [...(heights.get(number) ?? []), hash]),
  }
}
