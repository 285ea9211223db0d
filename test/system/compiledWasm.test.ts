import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compileModule } from '../../assembly/build.ts'
import { KERNEL } from '../../src/lib/wasm/kernel.generated.ts'
import { PRECOMPILES } from '../../src/lib/wasm/precompiles.generated.ts'

const hasCompiler = existsSync(new URL('../../node_modules/assemblyscript', import.meta.url))
const absence = hasCompiler ? '' : ' (skipped: assemblyscript is absent)'

it.skipIf(!hasCompiler).for([
  ['kernel', KERNEL],
  ['precompiles', PRECOMPILES],
] as const)(`a compiled module equals the compilation of its source: %s${absence}`, async ([name, text]) => {
  expect(Buffer.from(await compileModule(name)).toString('base64')).toBe(text)
})
