import type { Hex } from '../../lib/hex.ts'

/** op-node: heights remembered, and different blocks of one height after which further ones are rejected. */
const MAX_HEIGHTS = 1000
const MAX_BLOCKS_PER_HEIGHT = 5

/** Which blocks passed validation at each height, so that a sequencer that signs many at one height is cut off. */
export interface SeenBlocks {
  /** `too-many` comes first: once more than five are recorded, even a known hash is rejected (op-node's order). */
  check(number: number, hash: Hex): 'new' | 'seen' | 'too-many'
  record(number: number, hash: Hex): void
}

export function createSeenBlocks(): SeenBlocks {
  /** In order of last use. */
  const heights = new Map<number, Hex[]>()
  const touch = (number: number): Hex[] => {
    const hashes = heights.get(number) ?? []
    heights.delete(number)
    heights.set(number, hashes)
    return hashes
  }
  return {
    check(number, hash) {
      if (!heights.has(number)) return 'new'
      const hashes = touch(number)
      if (hashes.length > MAX_BLOCKS_PER_HEIGHT) return 'too-many'
      return hashes.includes(hash) ? 'seen' : 'new'
    },
    record(number, hash) {
      touch(number).push(hash)
      if (heights.size > MAX_HEIGHTS) {
        const [oldest] = heights.keys()
        if (oldest !== undefined) heights.delete(oldest)
      }
    },
  }
}
