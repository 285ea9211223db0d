import { readdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NotFoundError } from '@libp2p/interface'
import type { LevelDatastore } from 'datastore-level'
import { Key, type Pair } from 'interface-datastore'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { SerialLock } from '../../lib/serialLock.ts'

const backoff = exponentialBackoff(1_000, 60_000)
/** Beside what is in its logs, LevelDB writes a few small files when it is opened. */
const SPARE_BYTES = 1 << 16
/** LevelDB itself removes what has such a name, if the process ends before it does. */
const PROBE = '000000.dbtmp'

interface RefusalModules {
  path: string
  clock: Clock
  logger: Logger
  /** Bytes that can be written there, as the system tells. */
  roomAt?: (path: string) => Promise<number>
}

/**
 * Makes a LevelDB whose disk refused a write be closed and opened again, with the first write for which the disk has room
 * again. By itself it would take nothing more if the disk was full just when it wrote a table; and what it does take after
 * half a record in its log is not found there after the next start. Writes that fail, fail; reads never do: they are
 * answered from a copy while the store is closed. Returns how to close it for good.
 */
export function reopenAfterRefusal(
  store: LevelDatastore,
  { path, clock, logger, roomAt = roomOnDisk }: RefusalModules,
): () => Promise<void> {
  /** One write after the other: none may follow half a record. */
  const lock = new SerialLock()
  let refused: { error: unknown; tries: number; isDue: boolean } | undefined
  let cancel: (() => void) | undefined
  let isClosed = false
  /** Of all entries, in order, while the store is closed or about to be. */
  let copy: Map<string, Uint8Array> | undefined
  const readings = new Set<Promise<unknown>>()

  const onDisk = {
    put: store.put.bind(store),
    delete: store.delete.bind(store),
    batch: store.batch.bind(store),
    get: store.get.bind(store),
    has: store.has.bind(store),
    entries: store._query.bind(store),
  }
  const wait = (error: unknown, tries: number): void => {
    refused = { error, tries, isDue: false }
    cancel?.()
    cancel = clock.setTimeout(() => {
      if (refused !== undefined) refused.isDue = true
    }, backoff(tries))
  }
  const readAll = async (): Promise<Map<string, Uint8Array>> => {
    const entries = await all(onDisk.entries({ values: true }))
    return new Map(entries.map(({ key, value }) => [key.toString(), value]))
  }
  const reopen = async (): Promise<void> => {
    await tryDisk(path, roomAt)
    copy ??= await readAll()
    await Promise.allSettled(readings)
    await store.db.close()
    await store.db.open()
    copy = undefined
  }
  const write = <T>(work: () => Promise<T>): Promise<T> =>
    lock.run(async () => {
      // Refuses, and is not opened again.
      if (isClosed) return work()
      if (refused?.isDue === false) throw refused.error
      try {
        if (refused !== undefined) await reopen()
        const result = await work()
        if (refused !== undefined) logger.info('Peer store can be written again', { path })
        refused = undefined
        return result
      } catch (error) {
        if (refused === undefined) {
          const err = describeError(error)
          logger.warn('Peer store cannot be written: what is new is kept in memory for now', { path, err })
        }
        wait(error, (refused?.tries ?? 0) + 1)
        throw error
      }
    })
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    const reading = work()
    readings.add(reading)
    try {
      return await reading
    } finally {
      readings.delete(reading)
    }
  }

  store.put = (key, value) => write(() => onDisk.put(key, value))
  store.delete = (key) => write(() => onDisk.delete(key))
  store.batch = () => {
    const batch = onDisk.batch()
    return { ...batch, commit: () => write(async () => batch.commit()) }
  }
  store.get = async (key) => {
    if (copy === undefined) return read(() => onDisk.get(key))
    const value = copy.get(key.toString())
    if (value === undefined) throw new NotFoundError()
    return value
  }
  store.has = async (key) => copy?.has(key.toString()) ?? read(() => onDisk.has(key))
  store._query = async function* (of): AsyncGenerator<Pair> {
    if (copy === undefined) return yield* await read(() => all(onDisk.entries(of)))
    for (const [name, value] of copy) if (name.startsWith(of.prefix ?? '')) yield { key: new Key(name, false), value }
  }
  return () =>
    lock.run(async () => {
      cancel?.()
      isClosed = true
      await store.db.close()
    })
}

/**
 * Throws unless the disk takes a file of the size that LevelDB writes when it is opened, up to 8 MB. It is tried where there
 * seems to be room: on a full disk, it would take the last of it from others; there may be another limit, such as a quota.
 */
async function tryDisk(path: string, roomAt: (path: string) => Promise<number>): Promise<void> {
  let bytes = SPARE_BYTES
  for (const name of await readdir(path)) if (name.endsWith('.log')) bytes += (await stat(join(path, name))).size
  const room = await roomAt(path)
  if (room < bytes) throw new Error(`no space left on device: ${room} bytes free, ${bytes} needed`)
  const probe = join(path, PROBE)
  try {
    await writeFile(probe, new Uint8Array(bytes))
  } finally {
    await rm(probe, { force: true })
  }
}

/** Bytes; infinite where the file system does not tell. */
async function roomOnDisk(path: string): Promise<number> {
  const { blocks, bavail, bsize } = await statfs(path)
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of source) list.push(item)
  return list
}
