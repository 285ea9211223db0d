import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Datastore } from 'interface-datastore'
import type { Clock } from '../../lib/clock.ts'
import { DecodeError, describeError, UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { makeDirectory } from '../../lib/makeDirectory.ts'
import { DiskOrMemory } from './diskOrMemory.ts'

/** libp2p's datastore with its end of life. */
export interface PeerDatastore {
  datastore: Datastore | undefined
  close(): Promise<void>
}

/** Files of LevelDB, and those alone: the folder may be somebody else's too. */
const LEVEL_FILE = /^(CURRENT(\.bak)?|LOCK|LOG(\.old)?|MANIFEST-\d{6,}|\d{6,}\.(ldb|sst|log|dbtmp))$/
/** What the system refuses says nothing of the store, which may be whole. */
const REFUSED =
  /permission denied|not permitted|read-only file system|no space left|quota exceeded|too many open files/i
/** libp2p's entries: `/peers/<id>`. Whoever lists peers reads them all, and fails at the first that is anything else. */
const PEERS = '/peers/'
const PEER_KEY = /^\/peers\/b[a-z2-7]+$/

/**
 * Opens LevelDB at the path; `memory` keeps nothing. A damaged store, or another program's (op-node's has the same
 * place by default), is set aside as `<path>.corrupt-<time>` and reported: peers are found again. Throws UsageError when
 * the path is empty, another process holds it, or the system does not let us.
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
    modules.logger.error('Peer store was damaged, or is not ours: set aside, starting with an empty one', {
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

/** Returns where it is now: beside, or, where a mount or the folder above does not allow that, below. */
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
 * libp2p's records of peers are dropped when one of them cannot be read, since nobody could be listed any more: LevelDB
 * does not check its own sums, and another version may have written them.
 */
export async function dropUnreadablePeers(
  modules: { logger: Logger; listPeers(): Promise<unknown> },
  datastore: Datastore,
): Promise<void> {
  try {
    await modules.listPeers()
  } catch (error) {
    for await (const key of datastore.queryKeys({ prefix: PEERS })) await datastore.delete(key)
    modules.logger.error('Records of peers could not be read: dropped, peers are found again', {
      err: describeError(error),
    })
  }
}

async function openLevel(path: string, modules: { logger: Logger; clock: Clock }): Promise<PeerDatastore> {
  const names = await namesIn(path)
  // LevelDB would take it for a new one, and delete the tables.
  if (!names.includes('CURRENT') && names.some((name) => /^\d{6,}\.(ldb|sst|log)$/.test(name))) {
    throw new DecodeError('there are tables, but no CURRENT')
  }
  const { LevelDatastore } = await import('datastore-level')
  makeDirectory(path)
  const disk = new LevelDatastore(path)
  // Opened below the datastore's own open(), which drops the reason of a failure.
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

/** A damaged table shows only when it is read, which would else be in the middle of some call, again and again. */
async function readAll(datastore: Datastore): Promise<void> {
  for await (const { key } of datastore.query({})) {
    const name = key.toString()
    if (name.startsWith(PEERS) && !PEER_KEY.test(name)) throw new DecodeError(`${name} is no entry of this program's`)
  }
}

/** The database's own reason stands below a general "not open". */
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
