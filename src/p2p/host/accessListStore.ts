import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { AccessLists } from './accessLists.ts'

/** Keeps the access lists; `save` resolves when they are on disk. */
export interface AccessListStore {
  readonly lists: AccessLists
  save(): Promise<void>
}

export function createMemoryAccessListStore(): AccessListStore {
  return { lists: new AccessLists(), save: async () => {} }
}

/**
 * A small JSON file of its own, so that block lists survive a damaged peer store; replaced as a whole (write, sync,
 * rename). A file that cannot be understood is set aside as `<path>.corrupt-<time>` and reported, never fatal.
 */
export async function openAccessListFile(
  path: string,
  modules: { logger: Logger; clock: { now(): number } },
): Promise<AccessListStore> {
  const lists = await load(path, modules)
  let running: Promise<void> | undefined
  let again: Promise<void> | undefined

  const start = (): Promise<void> => {
    const write = writeWhole(path, JSON.stringify(lists.toJson(), null, 2))
    running = write.finally(() => {
      running = undefined
    })
    return running
  }
  return {
    lists,
    save() {
      if (running === undefined) return start()
      // One more write after the one under way carries all changes made since.
      again ??= running
        .catch(() => {})
        .then(() => {
          again = undefined
          return start()
        })
      return again
    },
  }
}

async function load(path: string, { logger, clock }: { logger: Logger; clock: { now(): number } }) {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new AccessLists()
    throw error
  }
  try {
    return AccessLists.fromJson(JSON.parse(text))
  } catch (error) {
    const aside = `${path}.corrupt-${clock.now()}`
    await rename(path, aside)
    logger.error('Block list file was damaged: set aside, starting with empty lists', {
      path,
      aside,
      err: describeError(error),
    })
    return new AccessLists()
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
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
