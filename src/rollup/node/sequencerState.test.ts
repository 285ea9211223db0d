import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createSequencerState } from './sequencerState.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-state-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('keeps the last state, and leaves no temporary file', async () => {
  const state = createSequencerState(join(folder, 'state.json'))
  expect(await state.read()).toEqual({})
  await state.write({ sequencerStarted: true })
  await state.write({ sequencerStarted: false })
  expect(await createSequencerState(join(folder, 'state.json')).read()).toEqual({ sequencerStarted: false })
  expect(readdirSync(folder)).toEqual(['state.json'])
})

it('accepts an empty object, and keeps members that it does not change', async () => {
  const path = join(folder, 'state.json')
  const state = createSequencerState(path)
  writeFileSync(path, '{}')
  expect(await state.read()).toEqual({})
  writeFileSync(path, '{"sdmPostExecOptIn":true}')
  await state.write({ sequencerStarted: true })
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ sdmPostExecOptIn: true, sequencerStarted: true })
  await Promise.all([state.write({ sequencerStarted: false }), state.write({ sdmPostExecOptIn: false })])
  expect(await state.read()).toEqual({ sdmPostExecOptIn: false, sequencerStarted: false })
})

it.each([
  ['', 'JSON'],
  ['{"sequencerStarted":true', 'JSON'],
  ['null', 'JSON object'],
  ['[true]', 'JSON object'],
  ['{"sequencerStarted":"yes"}', 'sequencerStarted'],
  ['{"sequencerStarted":true,"started":true}', ': started'],
])('refuses a file that holds %j, and does not overwrite it', async (text, problem) => {
  const path = join(folder, 'state.json')
  writeFileSync(path, text)
  const state = createSequencerState(path)
  await expect(state.read()).rejects.toThrow(errorWith('usage', path, problem))
  await expect(state.write({ sequencerStarted: true })).rejects.toThrow(errorWith('usage', path))
  expect(readFileSync(path, 'utf8')).toBe(text)
})
