import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createSequencerState } from './sequencerState.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-state-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('remembers the last state and leaves no temporary file', async () => {
  const state = createSequencerState(join(folder, 'state.json'))
  expect(await state.read()).toBeUndefined()
  await state.write(true)
  await state.write(false)
  expect(await createSequencerState(join(folder, 'state.json')).read()).toBe(false)
  expect(readdirSync(folder)).toEqual(['state.json'])
})

it.each(['', '{}', '{"sequencerStarted":"yes"}', 'null', '[true]'])('names the file that holds %j', async (text) => {
  const path = join(folder, 'state.json')
  writeFileSync(path, text)
  await expect(createSequencerState(path).read()).rejects.toThrow(`admin state file ${path} must hold`)
})
