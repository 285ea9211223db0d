import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compileKernel } from '../../../assembly/build.ts'
import { KERNEL } from './kernel.generated.ts'
import { adoptKernelModule, createKernelLoan, kernelModule } from './kernel.ts'

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

  it('is taken from another thread, and not compiled again', () => {
    const own = kernelModule()
    if (own === undefined) throw new Error('this processor has no 128-bit vectors')
    const nothing = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))
    adoptKernelModule(nothing)
    expect(kernelModule()).toBe(nothing)
    expect(createKernelLoan()).toThrow()
    adoptKernelModule(own)
    expect(createKernelLoan()()?.base).toBeGreaterThan(0)
  })
})
