import { expect, it } from 'vitest'
import { fastLzLength } from '../../rollup/protocol/index.ts'
import { fastLzLengthOf } from './dataSize.ts'

it('computes the size of an encoding once', () => {
  const raw = Uint8Array.from({ length: 300 }, (_, index) => (index * 37) & 0xff)
  const length = fastLzLength(raw)
  expect(fastLzLengthOf(raw)).toBe(length)
  // A second count would be much shorter.
  raw.fill(0)
  expect(fastLzLength(raw)).toBeLessThan(length)
  expect(fastLzLengthOf(raw)).toBe(length)
  expect(fastLzLengthOf(Uint8Array.from(raw))).toBe(fastLzLength(raw))
})
