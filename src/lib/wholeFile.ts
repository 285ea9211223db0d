import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError, isErrno } from './errors.ts'
import type { Logger } from './logger.ts'
import { makeDirectory } from './makeDirectory.ts'

/** For the owner only, and on the disk before the file gets its name. */
const SYNCED = { mode: 0o600, flush: true }

/**
 * Replaces the file atomically (write a sibling, sync, rename): a reader finds the old text or the new text. When it
 * resolves, the new text survives a power cut.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  makeDirectory(dirname(path))
  const temporary = `${path}.tmp`
  await writeFile(temporary, text, SYNCED)
  await rename(temporary, path)
  try {
    await using directory = await open(dirname(path), 'r')
    await directory.sync()
  } catch (error) {
    checkSyncError(error)
  }
}

/**
 * Creates the file atomically, and so that it survives a power cut. Throws `EEXIST` if another process has created it.
 * Synchronous, because it runs once, at a start.
 */
export function writeNew(path: string, text: string): void {
  makeDirectory(dirname(path))
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`
  try {
    writeFileSync(temporary, text, { ...SYNCED, flag: 'wx' })
    linkOrRename(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  try {
    const directory = openSync(dirname(path), 'r')
    try {
      fsyncSync(directory)
    } finally {
      closeSync(directory)
    }
  } catch (error) {
    checkSyncError(error)
  }
}

/** A rename would replace a file, so it is only for file systems without links. They also report `EEXIST` first. */
function linkOrRename(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw error
    renameSync(from, to)
  }
}

/** Some systems cannot open or sync a directory, for example Windows. */
function checkSyncError(error: unknown): void {
  if (!['EINVAL', 'EPERM', 'EISDIR', 'EACCES', 'ENOSYS', 'ENOTSUP'].some((code) => isErrno(error, code))) throw error
}

/**
 * Parses a JSON file. Returns undefined if the file does not exist, or if parsing fails. A damaged file is renamed to
 * `<path>.corrupt-<time>` and logged with the message `complaint`. Other read errors are thrown.
 */
export async function readWholeJson<T>(
  path: string,
  parse: (json: unknown) => T,
  modules: { logger: Logger; clock: { now(): number }; complaint: string },
): Promise<T | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    return parse(JSON.parse(text))
  } catch (error) {
    const aside = `${path}.corrupt-${modules.clock.now()}`
    await rename(path, aside)
    modules.logger.error(modules.complaint, { path, aside, err: describeError(error) })
    return undefined
  }
}
