import { mkdir, mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createEntryWriter } from '../score/entryWriter.ts'
import { openPeerDatastore } from './peerStore.ts'
import { reopenAfterRefusal } from './refusedWrites.ts'

const [old, young] = [new Key('/peers/baa'), new Key('/peers/bbb')]
const bytes = Uint8Array.of(1, 2)

/** A store with an entry, and what stands in the way of its next tables: their names are taken. */
async function openStore() {
  const path = join(await mkdtemp(join(tmpdir(), 'devium-refused-')), 'store')
  const clock = new ManualClock()
  const lines: string[] = []
  const logger = { ...silentLogger, warn: (text: string) => lines.push(text), info: (text: string) => lines.push(text) }
  const { datastore, close } = await openPeerDatastore(path, { clock, logger })
  onTestFinished(close)
  if (!(datastore instanceof LevelDatastore)) throw new Error('not on disk')
  const { db } = datastore
  if (!(db instanceof ClassicLevel)) throw new Error('no LevelDB')
  await datastore.put(old, bytes)
  const tables = Array.from({ length: 40 }, (_, n) => join(path, `${String(n).padStart(6, '0')}.ldb`))
  return {
    path,
    clock,
    lines,
    datastore,
    db,
    close,
    async refuse() {
      await Promise.all(tables.map((name) => mkdir(name)))
      await db.compactRange('/', '~')
    },
    takeAgain: () => Promise.all(tables.map((name) => rmdir(name))),
    async names() {
      const names: string[] = []
      for await (const { key } of datastore.query({ prefix: '/peers' })) names.push(key.toString())
      return names
    },
  }
}

describe('a store whose disk refused a table', () => {
  it('is read all the while, and written as soon as the disk takes one', async () => {
    const { path, clock, lines, datastore, db, close, refuse, takeAgain, names } = await openStore()
    const writer = createEntryWriter({ datastore, entry: () => 'score' }, { prefix: '/scores/' })
    writer.changed('peer')
    await refuse()
    await expect(datastore.put(young, bytes)).rejects.toThrow('.ldb')
    await writer.flush()

    // By now it would take files, but LevelDB still finds no place for its table.
    await clock.advance(1_000)
    await expect(datastore.put(young, bytes)).rejects.toThrow()
    expect(db.status).toBe('closed')
    expect([...(await datastore.get(old))]).toEqual([...bytes])
    expect([await datastore.has(old), await datastore.has(young)]).toEqual([true, false])
    await expect(datastore.get(young)).rejects.toMatchObject({ name: 'NotFoundError' })
    expect(await names()).toEqual([old.toString()])

    await takeAgain()
    await expect(datastore.put(young, bytes)).rejects.toThrow()
    expect(lines).toEqual(['Peer store cannot be written: what is new is kept in memory for now'])
    await clock.advance(2_000)
    await Promise.all([datastore.put(young, bytes), writer.flush()])
    expect(lines.slice(1)).toEqual(['Peer store can be written again'])
    expect(await names()).toEqual([old.toString(), young.toString()])

    await close()
    const again = await openPeerDatastore(path, { clock, logger: silentLogger })
    onTestFinished(again.close)
    for (const key of [old, young, new Key('/scores/peer')]) expect(await again.datastore?.has(key)).toBe(true)
  })

  it('is opened again while it is read', async () => {
    const { clock, datastore, db, refuse, takeAgain, names } = await openStore()
    await refuse()
    await expect(datastore.put(young, bytes)).rejects.toThrow()
    await takeAgain()
    await clock.advance(1_000)
    let isOpenAgain = false
    const wasClosed = vi.fn()
    db.on('closed', wasClosed)
    const opening = datastore.put(young, bytes).then(() => {
      isOpenAgain = true
    })
    while (!isOpenAgain) {
      await Promise.all([names(), datastore.get(old), new Promise(setImmediate)])
    }
    await opening
    expect(wasClosed).toHaveBeenCalledTimes(1)
  })
})

describe('a store that refused an entry', () => {
  it('takes none after it before it was opened again: half of that one may be in the log', async () => {
    const { clock, datastore, db } = await openStore()
    const calls: string[] = []
    db.on('closed', () => calls.push('closed'))
    const put = db.put.bind(db)
    vi.spyOn(db, 'put').mockImplementation(async (key, value) => {
      calls.push(String(key))
      if (key === old.toString()) throw new Error('No space left on device')
      await put(key, value)
    })
    const writes = await Promise.allSettled([datastore.put(old, bytes), datastore.put(young, bytes)])
    expect(writes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await clock.advance(1_000)
    await datastore.put(young, bytes)
    expect(calls).toEqual([old.toString(), 'closed', young.toString()])
  })

  it('is not tried with a file where there is no room for one', async () => {
    const path = await mkdtemp(join(tmpdir(), 'devium-refused-'))
    const store = new LevelDatastore(path)
    await store.open()
    const clock = new ManualClock()
    let room = 1_000
    const close = reopenAfterRefusal(store, { path, clock, logger: silentLogger, roomAt: async () => room })
    onTestFinished(close)
    vi.spyOn(store.db, 'batch').mockImplementation(() => {
      throw new Error('No space left on device')
    })
    // In the way of the file.
    await mkdir(join(path, '000000.dbtmp'))
    const write = () => store.batch().commit()
    await expect(write()).rejects.toThrow()
    await clock.advance(1_000)
    await expect(store.put(young, bytes)).rejects.toThrow('1000 bytes free')
    room = 1_000_000
    await clock.advance(2_000)
    await expect(store.put(young, bytes)).rejects.toThrow('EISDIR')
    await rmdir(join(path, '000000.dbtmp'))
    await clock.advance(4_000)
    await store.put(young, bytes)
    expect([...(await store.get(young))]).toEqual([...bytes])
  })

  it('stays closed once it is closed for good, and tells of nothing more', async () => {
    const { clock, lines, datastore, db, close } = await openStore()
    await close()
    for (let n = 0; n < 2; n++) {
      await expect(datastore.put(young, bytes)).rejects.toThrow('not open')
      await clock.advance(60_000)
    }
    expect(db.status).toBe('closed')
    expect(lines).toEqual([])
  })
})
