import { describe, expect, it } from 'vitest'
import { createKernelLoan } from './kernel.ts'

describe('kernel', () => {
  it('keeps an instance, unless it has taken much memory', () => {
    const lend = createKernelLoan()
    const first = lend()
    if (first === undefined) throw new Error('this processor has no 128-bit vectors')
    first.reserve(1024 * 1024)
    expect(lend()).toBe(first)
    expect(first.reserve(40 * 1024 * 1024).length).toBeGreaterThan(40 * 1024 * 1024)
    const second = lend()
    expect(second).not.toBe(first)
    expect(second?.memory.buffer.byteLength).toBeLessThan(1024 * 1024)
  })
})
