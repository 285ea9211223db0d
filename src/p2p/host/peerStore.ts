import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
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
    throw new UsageError(
      "peerstore path must be specified, use 'memory' to explicitly not persist peer records (--p2p.peerstore.path)",
    )
  }
  if (path === 'memory') return { datastore: undefined, close: async () => {} }
  try {
    return await openLevel(path)
  } catch (error) {
    const code = levelCode(error)
    if (code === 'LEVEL_LOCKED') {
      throw new UsageError(`peer store ${path} is in use by another process (--p2p.peerstore.path)`, { cause: error })
    }
    const damaged = (code === 'LEVEL_CORRUPTION' || code === 'LEVEL_IO_ERROR') && (await exists(join(path, 'CURRENT')))
    if (!damaged) throw new UsageError(`cannot open peer store ${path} (--p2p.peerstore.path)`, { cause: error })
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
  // Opened below the datastore's own open(), which drops the reason of a failure.
  await datastore.db.open()
  await datastore.open()
  try {
    await readAll(datastore)
  } catch (error) {
    await datastore.close()
    throw error
  }
  return { datastore, close: () => datastore.close() }
}

/** A damaged table shows only when it is read, which would else be in the middle of some call, again and again. */
async function readAll(datastore: Datastore): Promise<void> {
  for await (const _ of datastore.query({}));
}

/** The database's own reason stands below a general "not open". */
function levelCode(error: unknown): string | undefined {
  let code: string | undefined
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') code = current.code
  }
  return code
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch {
    return false
  }
}
