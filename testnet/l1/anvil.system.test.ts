import { constants } from 'node:buffer'
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { takeNewestState } from './anvil.ts'

it('takes a state that is longer than the longest string', () => {
  const directory = mkdtempSync(join(tmpdir(), 'devium-anvil-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const [newest, state] = [join(directory, 'state.new.json'), join(directory, 'state.json')]
  const file = openSync(newest, 'w')
  writeSync(file, '{"new":')
  const blanks = Buffer.alloc(16 * 1024 * 1024, ' ')
  for (let bytes = 0; bytes < constants.MAX_STRING_LENGTH; bytes += blanks.length) writeSync(file, blanks)
  writeSync(file, '1}')
  closeSync(file)
  expect(takeNewestState(newest, state)).toBe(true)
  expect(statSync(state).size).toBeGreaterThan(constants.MAX_STRING_LENGTH)
})
