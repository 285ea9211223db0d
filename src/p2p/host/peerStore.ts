import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Datastore } from 'interface-datastore'
import type { Clock } from '../../lib/clock.ts'
import { DecodeError, describeError, UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { makeDirectory } from '../../lib/makeDirectory.ts'
import { DiskOrMemory } from './diskOrMemory.ts'

export interface PeerDatastore {
  datastore: Datastore | undefined
  close(): Promise<void>
}

/** LevelDB's own files. The folder may hold other files too. */
const LEVEL_FILE = /^(CURRENT(\.bak)?|LOCK|LOG(\.old)?|MANIFEST-\d{6,}|\d{6,}\.(ldb|sst|log|dbtmp))$/
/** Errors by which the system refuses access. The store itself may be intact. */
const REFUSED =
  /permission denied|not permitted|read-only file system|no space left|quota exceeded|too many open files/i
/** libp2p's entries: `/peers/<id>`. A listing reads all of them, and fails at the first key of another form. */
const PEERS = '/peers/'
const PEER_KEY = /^\/peers\/b[a-z2-7]+$/

/**
 * Opens LevelDB at the path; `memory` persists nothing. A damaged store, or a store of another program (op-node's
 * default path is the same), is renamed to `<path>.corrupt-<time>` and logged; peers will be found again. Throws
 * UsageError when the path is empty, another process holds the store, or the system refuses access.
 */
export async function openPeerDatastore(
  path: string,
  modules: { logger: Logger; clock: Clock },
): Promise<PeerDatastore> {
  if (path === '') {
    throw new UsageError(
      "peerstore path must be specified, use 'memory' to explicitly not persist peer records (--p2p.peerstore.path)",
    )
  }
  if (path === 'memory') return { datastore: undefined, close: async () => {} }
  try {
    return await openLevel(path, modules)
  } catch (error) {
    const code = levelCode(error)
    if (code === 'LEVEL_LOCKED') {
      throw new UsageError(`peer store ${path} is in use by another process (--p2p.peerstore.path)`, { cause: error })
    }
    const cannotOpen = (cause: unknown): UsageError =>
      new UsageError(`cannot open peer store ${path} (--p2p.peerstore.path)`, { cause })
    if (!(await isDamage(error, path))) throw cannotOpen(error)
    const aside = await setAside(path, modules.clock.now()).catch((cause: unknown) => Promise.reject(cannotOpen(cause)))
    modules.logger.error('Peer store is damaged or not from this program: moved it aside, starting with an empty one', {
      path,
      aside,
      err: describeError(error),
    })
    return await openLevel(path, modules).catch((cause: unknown) => Promise.reject(cannotOpen(cause)))
  }
}

async function isDamage(error: unknown, path: string): Promise<boolean> {
  const code = levelCode(error)
  if (error instanceof DecodeError || code === 'LEVEL_CORRUPTION') return true
  return code === 'LEVEL_IO_ERROR' && !REFUSED.test(describeError(error)) && (await namesIn(path)).includes('CURRENT')
}

/** Returns the new location: beside the store, or below it if a mount or the parent folder does not allow that. */
async function setAside(path: string, nowMs: number): Promise<string> {
  const beside = `${path}.corrupt-${nowMs}`
  try {
    await rename(path, beside)
    return beside
  } catch {
    const below = join(path, `corrupt-${nowMs}`)
    await mkdir(below)
    const files = (await namesIn(path)).filter((name) => LEVEL_FILE.test(name))
    for (const name of files) await rename(join(path, name), join(below, name))
    return below
  }
}

/**
 * Drops all peer records of libp2p when one is unreadable, since no peer could be listed any more. LevelDB does not
 * verify its checksums, and another version may have written the record.
 */
export async function dropUnreadablePeers(
  modules: { logger: Logger; listPeers(): Promise<unknown> },
  datastore: Datastore,
): Promise<void> {
  try {
    await modules.listPeers()
  } catch (error) {
    for await (const key of datastore.queryKeys({ prefix: PEERS })) await datastore.delete(key)
    modules.logger.error('Dropped unreadable peer records: peers will be found again', {
      err: describeError(error),
    })
  }
}

async function openLevel(path: string, modules: { logger: Logger; clock: Clock }): Promise<PeerDatastore> {
  const names = await namesIn(path)
  // LevelDB would treat the folder as new, and delete the tables.
  if (!names.includes('CURRENT') && names.some((name) => /^\d{6,}\.(ldb|sst|log)$/.test(name))) {
    throw new DecodeError('the folder has tables, but no CURRENT file')
  }
  const { LevelDatastore } = await import('datastore-level')
  makeDirectory(path)
  const disk = new LevelDatastore(path)
  // Opened directly, because the datastore's own open() drops the reason of a failure.
  await disk.db.open()
  await disk.open()
  try {
    await readAll(disk)
  } catch (error) {
    await disk.close()
    throw error
  }
  return { datastore: new DiskOrMemory(disk, { path, logger: modules.logger }), close: () => disk.db.close() }
}

/**
 * Reads the whole store. A damaged table shows only when it is read; otherwise every later call that reads it would
 * fail.
 */
async function readAll(datastore: Datastore): Promise<void> {
  for await (const { key } of datastore.query({})) {
    const name = key.toString()
    if (name.startsWith(PEERS) && !PEER_KEY.test(name)) throw new DecodeError(`${name} is not an entry of this program`)
  }
}

/** The database's specific code is the deepest one, below a general "not open". */
function levelCode(error: unknown): string | undefined {
  let code: string | undefined
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') code = current.code
  }
  return code
}

async function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch(() => [])
}
