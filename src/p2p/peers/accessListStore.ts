import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { readWholeJson, writeWhole } from '../../lib/wholeFile.ts'
import { AccessLists } from './accessLists.ts'

/** Keeps the access lists; `save` resolves when they are on disk. */
export interface AccessListStore {
  readonly lists: AccessLists
  save(): Promise<void>
  /** Saves what could not be saved the last time, if it can be now; never rejects. */
  saveAgain(): Promise<void>
}

export function createMemoryAccessListStore(): AccessListStore {
  return { lists: new AccessLists(), save: async () => {}, saveAgain: async () => {} }
}

/**
 * A small JSON file of its own, so that block lists survive a damaged peer store; replaced as a whole (write, sync,
 * rename). A file that cannot be understood is set aside as `<path>.corrupt-<time>` and reported, never fatal; nor is one
 * that cannot be written. Throws UsageError on one that cannot be read: who is blocked would be let in.
 */
export async function openAccessListFile(
  path: string,
  modules: { logger: Logger; clock: { now(): number } },
): Promise<AccessListStore> {
  const complaint = 'Block list file was damaged: set aside, starting with empty lists'
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
  // Found out now, and not when a peer was blocked and is back after the next start.
  await save().catch(() => {})
  return {
    lists,
    save,
    async saveAgain() {
      if (isUnsaved) await save().catch(() => {})
    },
  }
}
