import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isErrno, UsageError } from './errors.ts'
import { describeFileError } from './fileErrors.ts'

/**
 * Creates a directory and its missing parents. mkdir's `recursive` option retries for ever where the system reports a
 * missing parent for a directory that cannot exist, as below /proc. Throws UsageError that names the directory.
 */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  try {
    mkdirSync(path)
  } catch (cause) {
    // Another process may have created it in the meantime.
    if (isDirectory(path)) return
    throw new UsageError(`cannot create the directory ${path}: ${reasonOf(cause)}`)
  }
}

function reasonOf(error: unknown): string {
  if (isErrno(error, 'EEXIST')) return 'it is not a directory'
  if (isErrno(error, 'ENOENT')) return 'the system does not allow a directory there'
  return describeFileError(error)
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
