import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { createSeenBlocks } from './seenBlocks.ts'

const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`

describe('createSeenBlocks', () => {
  it('knows what was recorded, by height', () => {
    const seen = createSeenBlocks()
    seen.record(1, hash(1))
    expect(seen.check(1, hash(1))).toBe('seen')
    expect(seen.check(1, hash(2))).toBe('new')
    expect(seen.check(2, hash(1))).toBe('new')
  })
  it('forgets the height used longest ago when there are more than a thousand', () => {
    const seen = createSeenBlocks()
    for (let n = 1; n <= 1_000; n++) seen.record(n, hash(n))
    expect(seen.check(1, hash(1))).toBe('seen')
    seen.record(1_001, hash(1_001))
    expect(seen.check(1, hash(1))).toBe('seen')
    expect(seen.check(2, hash(2))).toBe('new')
    expect(seen.check(3, hash(3))).toBe('seen')
  })
})
