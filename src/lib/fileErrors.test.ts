import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { describeFileError, isFileError } from './fileErrors.ts'

const directory = mkdtempSync(join(tmpdir(), 'devium-file-errors-'))
afterAll(() => rmSync(directory, { recursive: true }))

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it works')
}

/** A system error that a test cannot cause for every user. */
const systemError = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${code}: text of the system, ${syscall} '/x'`), { code, syscall })

it.each([
  ['a directory', () => readFileSync(directory), 'it is a directory'],
  ['a file for a directory', () => readFileSync(join(file(), 'x')), 'a part of the path is not a directory'],
  ['a long name', () => readFileSync(join(directory, 'x'.repeat(300))), 'the name is too long'],
  ['a loop', () => readFileSync(loop()), 'its symbolic links form a loop'],
])('describes the error of %s', (_, work, words) => {
  const error = thrownBy(work)
  expect(isFileError(error)).toBe(true)
  expect(describeFileError(error)).toBe(words)
})

it.each([
  ['EACCES', 'open', 'permission denied'],
  ['EROFS', 'mkdir', 'the file system is read-only'],
  ['ENOSPC', 'write', 'the disk is full'],
])('describes %s', (code, syscall, words) => {
  expect(describeFileError(systemError(code, syscall))).toBe(words)
})

it('does not describe errors of ports and programs as file errors', () => {
  expect(isFileError(systemError('EACCES', 'listen'))).toBe(false)
  expect(isFileError(systemError('EACCES', 'spawn anvil'))).toBe(false)
  expect(isFileError(new Error('permission denied'))).toBe(false)
  const missing = thrownBy(() => readFileSync(join(directory, 'missing')))
  expect(describeFileError(missing)).toMatch(/^ENOENT: no such file/)
})

function file(): string {
  const path = join(directory, 'file')
  writeFileSync(path, '')
  return path
}

function loop(): string {
  const path = join(directory, 'loop')
  symlinkSync('loop', path)
  return path
}
