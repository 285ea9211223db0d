import type { Logger } from '../../lib/logger.ts'
import { readWholeJson, writeWhole } from '../../lib/wholeFile.ts'
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
  const complaint = 'Block list file was damaged: set aside, starting with empty lists'
  const saved = await readWholeJson(path, (json) => AccessLists.fromJson(json), { ...modules, complaint })
  const lists = saved ?? new AccessLists()
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
