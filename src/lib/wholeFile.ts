import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError, isErrno } from './errors.ts'
import type { Logger } from './logger.ts'

/** Replaces the file as a whole (write a sibling, sync, rename): whoever reads it finds the old text or the new one. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

/**
 * What `parse` makes of the file's JSON; undefined when there is no file, or when `parse` throws: a damaged file is set
 * aside as `<path>.corrupt-<time>` and reported with `complaint`, never fatal. Other failures to read are thrown.
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
