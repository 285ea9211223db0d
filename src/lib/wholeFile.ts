import { randomBytes } from 'node:crypto'
import { link, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError, isErrno } from './errors.ts'
import type { Logger } from './logger.ts'
import { makeDirectory } from './makeDirectory.ts'

/** Replaces the file atomically (write a sibling, sync, rename): a reader finds the old text or the new text. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`
  await writeSynced(temporary, 'w', text)
  await rename(temporary, path)
}

/** Creates the file atomically. Fails with `EEXIST` if another process has created it. */
export async function writeNew(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`
  await writeSynced(temporary, 'wx', text)
  try {
    await link(temporary, path)
  } catch (error) {
    // Some file systems do not support links.
    if (!isErrno(error, 'EEXIST')) return await rename(temporary, path)
    await unlink(temporary)
    throw error
  }
  await unlink(temporary)
}

async function writeSynced(path: string, flags: 'w' | 'wx', text: string): Promise<void> {
  makeDirectory(dirname(path))
  const file = await open(path, flags, 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
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
