import { describe, expect, it } from 'vitest'
import { createCompiled } from './compiled.ts'
import { KERNEL } from './kernel.generated.ts'

describe('compiled modules', () => {
  it('are compiled once', () => {
    const compiled = createCompiled(KERNEL)
    expect(compiled()).toBeInstanceOf(WebAssembly.Module)
    expect(compiled()).toBe(compiled())
  })

  it('are absent if they cannot run', () => {
    expect(createCompiled(Buffer.from('no module').toString('base64'))()).toBeUndefined()
  })
})
