import { NotFoundError } from '@libp2p/interface'
import type { LevelDatastore } from 'datastore-level'
import { type Datastore, Key, type Pair } from 'interface-datastore'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { SerialLock } from '../../lib/serialLock.ts'

type Change = { key: Key; value: Uint8Array | undefined }

/**
 * After the first write that the disk refuses, the store goes on in memory until the next start: a write never fails, since
 * libp2p writes down who has connected before it tells anybody what that peer speaks. LevelDB is not written again: it may
 * have half a record in its log, after which nothing would be found.
 */
export function goOnInMemory(store: LevelDatastore, { path, logger }: { path: string; logger: Logger }): void {
  /** One write after the other: none may follow half a record, or overtake another on its way into memory. */
  const lock = new SerialLock()
  let memory: Map<string, Uint8Array> | undefined
  const onDisk = {
    put: store.put.bind(store),
    delete: store.delete.bind(store),
    batch: store.batch.bind(store),
    get: store.get.bind(store),
    has: store.has.bind(store),
    entries: store._query.bind(store),
  }
  const readAll = async (): Promise<Map<string, Uint8Array>> => {
    const entries = new Map<string, Uint8Array>()
    try {
      for await (const { key, value } of onDisk.entries({ values: true })) entries.set(key.toString(), value)
    } catch (err) {
      logger.error('Peer store cannot be read either: peers are found again', { path, err: describeError(err) })
    }
    return entries
  }
  const write = (changes: readonly Change[], toDisk: () => Promise<unknown>): Promise<void> =>
    lock.run(async () => {
      if (memory === undefined) {
        try {
          await toDisk()
          return
        } catch (err) {
          // Closed with the node.
          if (store.db.status !== 'open') throw err
          logger.error('Peer store cannot be written: kept in memory until the next start', {
            path,
            err: describeError(err),
          })
          memory = await readAll()
        }
      }
      for (const { key, value } of changes) {
        if (value === undefined) memory.delete(key.toString())
        else memory.set(key.toString(), value)
      }
    })

  store.put = async (key, value) => {
    await write([{ key, value }], async () => onDisk.put(key, value))
    return key
  }
  store.delete = (key) => write([{ key, value: undefined }], async () => onDisk.delete(key))
  store.batch = () => {
    const batch = onDisk.batch()
    const changes: Change[] = []
    const note = (key: Key, value?: Uint8Array): void => {
      changes.push({ key, value })
      if (value === undefined) batch.delete(key)
      else batch.put(key, value)
    }
    return { put: note, delete: note, commit: () => write(changes, async () => batch.commit()) } satisfies ReturnType<
      Datastore['batch']
    >
  }
  // Not given up with what it is for: libp2p takes a peer that it could not read for one of whom it knows nothing, and
  // writes that down.
  store.get = async (key) => {
    if (memory === undefined) return onDisk.get(key)
    const value = memory.get(key.toString())
    if (value === undefined) throw new NotFoundError()
    return value
  }
  store.has = async (key) => memory?.has(key.toString()) ?? onDisk.has(key)
  store._query = async function* (of): AsyncGenerator<Pair> {
    if (memory === undefined) return yield* onDisk.entries(of)
    for (const [name, value] of [...memory].sort(byName)) {
      if (name.startsWith(of.prefix ?? '')) yield { key: new Key(name, false), value }
    }
  }
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)
