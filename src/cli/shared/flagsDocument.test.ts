import { expect, it } from 'vitest'
import { flagsDocument } from './flagsDocument.ts'

it('docs/flags.md matches the declarations (vitest --update writes it)', async () => {
  await expect(flagsDocument()).toMatchFileSnapshot('../../../docs/flags.md')
})
