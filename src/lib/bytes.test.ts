import { expect, it } from 'vitest'
import { equalBytes, freeBytes } from './bytes.ts'

it('bytes are freed where the memory is all their own, and left alone where others have a part of it', () => {
  const own = Buffer.allocUnsafeSlow(100_000)
  const whole = new Uint8Array(100_000)
  const part = whole.subarray(1)
  for (const bytes of [own, part]) freeBytes(bytes)
  expect([own.length, part.length, whole.length]).toEqual([0, 99_999, 100_000])
})

it.each([0, 1, 32, 128, 129, 600])('%i bytes are equal where each of them is', (length) => {
  const bytes = new Uint8Array(length).map((_, index) => index)
  expect(equalBytes(bytes, bytes)).toBe(true)
  expect(equalBytes(bytes, Buffer.from(bytes))).toBe(true)
  expect(equalBytes(bytes, new Uint8Array(length + 1))).toBe(false)
  for (const at of length === 0 ? [] : [0, length - 1]) {
    const other = bytes.slice()
    other[at] = 255 - (other[at] ?? 0)
    expect(equalBytes(bytes, other)).toBe(false)
  }
})
