import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { copyInitialised, isInitialised } from './initialised.ts'
import { nodeLayout } from './layout.ts'

it('a node starts with the genesis block that another node wrote, and without its own old data', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'devium-initialised-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const [first, second] = [nodeLayout(dir, 'sequencer'), nodeLayout(dir, 'verifier1')]
  for (const { gethDataDir } of [first, second]) mkdirSync(gethDataDir, { recursive: true })
  writeFileSync(join(first.gethDataDir, 'block'), 'genesis')
  writeFileSync(join(second.gethDataDir, 'half'), 'of an init that was cut short')
  expect(isInitialised(second)).toBe(false)
  await copyInitialised(first, second)
  expect(isInitialised(second)).toBe(true)
  expect(readFileSync(join(second.gethDataDir, 'block'), 'utf8')).toBe('genesis')
  expect(() => readFileSync(join(second.gethDataDir, 'half'))).toThrow('ENOENT')
})
