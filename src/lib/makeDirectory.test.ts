import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeDirectory } from './makeDirectory.ts'

function directoryInTest(): string {
  const directory = mkdtempSync(join(tmpdir(), 'devium-make-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

it('creates a directory and its parents, and accepts an existing one', () => {
  const path = join(directoryInTest(), 'a', 'b', 'c')
  makeDirectory(path)
  makeDirectory(path)
  expect(statSync(path).isDirectory()).toBe(true)
})

it('accepts a link to a directory', () => {
  const directory = directoryInTest()
  mkdirSync(join(directory, 'real'))
  symlinkSync('real', join(directory, 'link'))
  makeDirectory(join(directory, 'link', 'below'))
  expect(existsSync(join(directory, 'real', 'below'))).toBe(true)
})

/** The error names this directory, not one below it. */
const refusal = (directory: string) =>
  expect.objectContaining({ code: 'usage', message: expect.stringMatching(new RegExp(` ${directory}: .`)) })

it('names the directory that cannot be created', () => {
  const directory = directoryInTest()
  const file = join(directory, 'file')
  writeFileSync(file, '')
  expect(() => makeDirectory(file)).toThrow(refusal(file))
  expect(() => makeDirectory(join(file, 'x', 'y'))).toThrow(refusal(file))
  const long = join(directory, 'x'.repeat(300))
  expect(() => makeDirectory(long)).toThrow(refusal(long))
})

it.runIf(process.platform === 'linux')('stops if the system denies every attempt', () => {
  expect(() => makeDirectory('/proc/devium/x')).toThrow(refusal('/proc/devium'))
})
