import { BaseDatastore, MemoryDatastore } from 'datastore-core'
import type { LevelDatastore } from 'datastore-level'
import type { Batch, Datastore, Key, KeyQuery, Query } from 'interface-datastore'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'

/**
 * After the first write that the disk refuses, the store goes on in memory until the next start: a write never fails, since
 * libp2p writes down who has connected before it tells anybody what that peer speaks. LevelDB is not written again: it may
 * have half a record in its log, after which nothing would be found.
 * Nothing is given up with what it is for: libp2p takes a peer that it could not read for one of whom it knows nothing, and
 * writes that down.
 */
export class DiskOrMemory extends BaseDatastore {
  private readonly disk: LevelDatastore
  private readonly place: { path: string; logger: Logger }
  private current: Datastore
  /** One write after the other: none may follow half a record, or overtake another on its way into memory. */
  private readonly lock = createSemaphore(1)

  constructor(disk: LevelDatastore, place: { path: string; logger: Logger }) {
    super()
    this.disk = disk
    this.place = place
    this.current = disk
  }

  override put(key: Key, value: Uint8Array): Promise<Key> {
    return this.write(async (store) => store.put(key, value))
  }
  override delete(key: Key): Promise<void> {
    return this.write(async (store) => store.delete(key))
  }
  override batch(): Batch {
    const changes: ((batch: Batch) => void)[] = []
    return {
      put: (key, value) => void changes.push((batch) => batch.put(key, value)),
      delete: (key) => void changes.push((batch) => batch.delete(key)),
      commit: () =>
        this.write(async (store) => {
          const batch = store.batch()
          for (const change of changes) change(batch)
          await batch.commit()
        }),
    }
  }
  override get = async (key: Key): Promise<Uint8Array> => this.current.get(key)
  override has = async (key: Key): Promise<boolean> => this.current.has(key)
  override query = (of: Query) => this.current.query(of)
  override queryKeys = (of: KeyQuery) => this.current.queryKeys(of)

  private write<T>(change: (store: Datastore) => Promise<T>): Promise<T> {
    return this.lock.run(async () => {
      try {
        return await change(this.current)
      } catch (err) {
        // Closed with the node.
        if (this.current !== this.disk || this.disk.db.status !== 'open') throw err
        const fields = { path: this.place.path, err: describeError(err) }
        this.place.logger.error('Peer store cannot be written: kept in memory until the next start', fields)
        this.current = await this.copy()
        return change(this.current)
      }
    })
  }

  private async copy(): Promise<Datastore> {
    const memory = new MemoryDatastore()
    try {
      for await (const { key, value } of this.disk.query({})) memory.put(key, value)
    } catch (err) {
      const fields = { path: this.place.path, err: describeError(err) }
      this.place.logger.error('Peer store cannot be read either: peers are found again', fields)
    }
    return memory
  }
}
