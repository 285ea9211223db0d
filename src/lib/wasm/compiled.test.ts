import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compileModule } from '../../../assembly/build.ts'
import { createCompiled } from './compiled.ts'
import { KERNEL } from './kernel.generated.ts'
import { PRECOMPILES } from './precompiles.generated.ts'

const hasCompiler = existsSync(new URL('../../../node_modules/assemblyscript', import.meta.url))
const absence = hasCompiler ? '' : ' (skipped: assemblyscript is absent)'

describe('compiled modules', () => {
  it.skipIf(!hasCompiler).for([
    ['kernel', KERNEL],
    ['precompiles', PRECOMPILES],
  ] as const)(`are what their source compiles to: %s${absence}`, async ([name, text]) => {
    expect(Buffer.from(await compileModule(name)).toString('base64')).toBe(text)
  })

  it('are compiled once', () => {
    const compiled = createCompiled(KERNEL)
    expect(compiled()).toBeInstanceOf(WebAssembly.Module)
    expect(compiled()).toBe(compiled())
  })

  it('are absent where they cannot be run', () => {
    expect(createCompiled(Buffer.from('no module').toString('base64'))()).toBeUndefined()
  })
})
