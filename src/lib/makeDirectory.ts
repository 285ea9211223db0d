import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isErrno, UsageError } from './errors.ts'
import { describeFileError } from './fileErrors.ts'

/**
 * Makes a directory and those above it that are missing. mkdir's own `recursive` would try for ever where the system refuses
 * one as if its parent were missing, as below /proc. Throws UsageError, which names the directory.
 */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  try {
    mkdirSync(path)
  } catch (cause) {
    // Another process may have made it just now.
    if (isDirectory(path)) return
    throw new UsageError(`cannot make the directory ${path}: ${reasonOf(cause)}`)
  }
}

function reasonOf(error: unknown): string {
  if (isErrno(error, 'EEXIST')) return 'it is not a directory'
  if (isErrno(error, 'ENOENT')) return 'the system lets nobody make one there'
  return describeFileError(error)
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
