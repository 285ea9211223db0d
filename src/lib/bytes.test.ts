import { expect, it } from 'vitest'
import { freeBytes } from './bytes.ts'

it('bytes are freed where the memory is all their own, and left alone where others have a part of it', () => {
  const own = Buffer.allocUnsafeSlow(100_000)
  const whole = new Uint8Array(100_000)
  const part = whole.subarray(1)
  for (const bytes of [own, part]) freeBytes(bytes)
  expect([own.length, part.length, whole.length]).toEqual([0, 99_999, 100_000])
})
