import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { readWholeJson, writeWhole } from '../../lib/wholeFile.ts'
import { AccessLists } from './accessLists.ts'

/** Persists the access lists. `save` resolves when they are on disk. */
export interface AccessListStore {
  readonly lists: AccessLists
  save(): Promise<void>
  /** Saves again after a failed save. Never rejects. */
  saveAgain(): Promise<void>
}

export function createMemoryAccessListStore(): AccessListStore {
  return { lists: new AccessLists(), save: async () => {}, saveAgain: async () => {} }
}

/**
 * A JSON file apart from the peer store, so that the block lists survive a damaged peer store. The file is replaced as
 * a whole (write, sync, rename). A damaged file is renamed to `<path>.corrupt-<time>` and logged. A failed write is
 * logged. Throws UsageError on an unreadable file: with empty lists, blocked peers could connect.
 */
export async function openAccessListFile(
  path: string,
  modules: { logger: Logger; clock: { now(): number } },
): Promise<AccessListStore> {
  const complaint = 'Block list file is damaged: moved it aside, starting with empty lists'
  const saved = await readWholeJson(path, (json) => AccessLists.fromJson(json), { ...modules, complaint }).catch(
    (cause: unknown) =>
      Promise.reject(new UsageError(`cannot read the block lists ${path} (--p2p.peerstore.path)`, { cause })),
  )
  const { logger } = modules
  const lists = saved ?? new AccessLists()
  const lock = createSemaphore(1)
  let isUnsaved = false

  const write = async (): Promise<void> => {
    try {
      await writeWhole(path, JSON.stringify(lists.toJson(), null, 2))
    } catch (err) {
      const complaint = 'Block lists and bans cannot be written: they are kept in memory for now'
      if (!isUnsaved) logger.error(complaint, { path, err })
      isUnsaved = true
      throw err
    }
    if (isUnsaved) logger.info('Block lists and bans can be written again', { path })
    isUnsaved = false
  }
  const save = (): Promise<void> => lock.run(write)
  // Check now whether the file is writable. Otherwise a later block would be lost at the next restart.
  await save().catch(() => {})
  return {
    lists,
    save,
    async saveAgain() {
      if (isUnsaved) await save().catch(() => {})
    },
  }
}
