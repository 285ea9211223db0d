import { rename, stat } from 'node:fs/promises'
import type { Datastore } from 'interface-datastore'
import { describeError, UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

/** libp2p's datastore with its end of life. */
export interface PeerDatastore {
  datastore: Datastore | undefined
  close(): Promise<void>
}

/**
 * Opens LevelDB at the path; `memory` keeps nothing. A damaged store is set aside as `<path>.corrupt-<time>` and
 * reported: peers are found again. Throws UsageError when the path is empty or another process holds it.
 */
export async function openPeerDatastore(
  path: string,
  modules: { logger: Logger; clock: { now(): number } },
): Promise<PeerDatastore> {
  if (path === '') {
    throw new UsageError("peerstore path must be specified, use 'memory' to explicitly not persist peer records")
  }
  if (path === 'memory') return { datastore: undefined, close: async () => {} }
  try {
    return await openLevel(path)
  } catch (error) {
    if (isLocked(error)) throw new UsageError(`peer store ${path} is in use by another process`, { cause: error })
    if (!(await exists(path))) throw new UsageError(`cannot open peer store ${path}`, { cause: error })
    const aside = `${path}.corrupt-${modules.clock.now()}`
    await rename(path, aside)
    modules.logger.error('Peer store was damaged: set aside, starting with an empty one', {
      path,
      aside,
      err: describeError(error),
    })
    return await openLevel(path)
  }
}

async function openLevel(path: string): Promise<PeerDatastore> {
  const { LevelDatastore } = await import('datastore-level')
  const datastore = new LevelDatastore(path)
  await datastore.open()
  return { datastore, close: () => datastore.close() }
}

function isLocked(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && current.code === 'LEVEL_LOCKED') return true
  }
  return false
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch {
    return false
  }
}
