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

it.each<[string, () => unknown]>([
  ['a directory', () => readFileSync(directory)],
  ['a file for a directory', () => readFileSync(join(file(), 'x'))],
  ['a long name', () => readFileSync(join(directory, 'x'.repeat(300)))],
  ['a loop', () => readFileSync(loop())],
  ...[
    ['EACCES', 'open'],
    ['EROFS', 'mkdir'],
    ['ENOSPC', 'write'],
  ].map(([code = '', syscall = '']): [string, () => unknown] => {
    const fail = () => {
      throw systemError(code, syscall)
    }
    return [code, fail]
  }),
])('describes the error of %s in words, without the path', (_, work) => {
  const error = thrownBy(work)
  expect(isFileError(error)).toBe(true)
  expect(describeFileError(error)).toMatch(/^[a-z][a-z -]+$/)
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
