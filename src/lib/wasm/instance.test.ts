import { expect, it } from 'vitest'
import { compile } from './instance.ts'
import { KERNEL } from './kernel.generated.ts'

it('a module that the processor cannot run is absent', () => {
  expect(compile(KERNEL)).toBeInstanceOf(WebAssembly.Module)
  expect(compile(Buffer.from('no module').toString('base64'))).toBeUndefined()
})
