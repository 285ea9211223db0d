import { BaseDatastore, MemoryDatastore } from 'datastore-core'
import type { LevelDatastore } from 'datastore-level'
import type { Datastore, Key, KeyQuery, Query } from 'interface-datastore'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'

/**
 * After the first failed write to disk, the store continues in memory until the next start. So a write never fails.
 * That matters because libp2p stores a connected peer before it reports the peer's protocols. LevelDB is not written
 * again: its log may end in a partial record, after which nothing would be found. A read never fails either: libp2p
 * would treat an unreadable peer as unknown and store that.
 */
export class DiskOrMemory extends BaseDatastore {
  private readonly disk: LevelDatastore
  private readonly place: { path: string; logger: Logger }
  private current: Datastore
  /**
   * Writes run one at a time. None may follow a partial record, or overtake an earlier one during the switch to memory.
   */
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
  override get = async (key: Key): Promise<Uint8Array> => this.current.get(key)
  override has = async (key: Key): Promise<boolean> => this.current.has(key)
  override query = (of: Query) => this.current.query(of)
  override queryKeys = (of: KeyQuery) => this.current.queryKeys(of)

  private write<T>(change: (store: Datastore) => Promise<T>): Promise<T> {
    return this.lock.run(async () => {
      try {
        return await change(this.current)
      } catch (err) {
        // The store was closed with the node.
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
      this.place.logger.error('Peer store cannot be read either: peers will be found again', fields)
    }
    return memory
  }
}
