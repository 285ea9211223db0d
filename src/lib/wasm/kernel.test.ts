import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compileKernel } from '../../../assembly/build.ts'
import { KERNEL } from './kernel.generated.ts'
import { createKernelLoan } from './kernel.ts'

const hasCompiler = existsSync(new URL('../../../node_modules/assemblyscript', import.meta.url))

describe('kernel', () => {
  it.skipIf(!hasCompiler)(
    hasCompiler
      ? 'is what its source compiles to'
      : 'is what its source compiles to (skipped: assemblyscript is absent)',
    async () => {
      expect(Buffer.from(await compileKernel()).toString('base64')).toBe(KERNEL)
    },
  )

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
