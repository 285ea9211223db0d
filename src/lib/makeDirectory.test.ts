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

it('names the directory that cannot be created, and the reason', () => {
  const file = join(directoryInTest(), 'file')
  writeFileSync(file, '')
  expect(() => makeDirectory(file)).toThrow(`cannot create the directory ${file}: it is not a directory`)
  expect(() => makeDirectory(join(file, 'x', 'y'))).toThrow(
    `cannot create the directory ${file}: it is not a directory`,
  )
  const long = join(file, '..', 'x'.repeat(300))
  expect(() => makeDirectory(long)).toThrow(/: the name is too long$/)
})

it.runIf(process.platform === 'linux')('stops if the system denies every attempt', () => {
  expect(() => makeDirectory('/proc/devium/x')).toThrow(
    'cannot create the directory /proc/devium: the system does not allow a directory there',
  )
})
