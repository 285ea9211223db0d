import type { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { datastoreInTest } from '../testUtils/inTest.ts'
import { openPeerEntries } from './peerEntries.ts'

const open = (datastore: LevelDatastore) =>
  openPeerEntries(datastore, { prefix: '/entries/', schema: z.number(), updatedAt: (entry) => entry })

async function stored(datastore: LevelDatastore): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for await (const { key, value } of datastore.query({ prefix: '/entries/' })) {
    found[key.name()] = JSON.parse(Buffer.from(value).toString())
  }
  return found
}

describe('openPeerEntries', () => {
  it('reads entries by their age, and writes only what changed', async () => {
    const datastore = await datastoreInTest()
    const put = (name: string, text: string) => datastore.put(new Key(`/entries/${name}`), Buffer.from(text))
    for (const [name, text] of Object.entries({ late: '9', early: '1', bad: '"x"', worse: '{' })) await put(name, text)
    const entries = await open(datastore)
    expect(entries.all()).toEqual([
      ['early', 1],
      ['late', 9],
    ])
    expect(entries.damaged).toBe(2)
    await put('late', '8')
    entries.set('a', 2)
    entries.set('a', 3)
    entries.remove('early')
    await entries.flush()
    expect(await stored(datastore)).toEqual({ a: 3, late: 8 })
  })

  it('prunes expired entries, and the oldest above the limit', async () => {
    const entries = await openPeerEntries<number>(undefined, {
      ...{ prefix: '/entries/', schema: z.number(), updatedAt: (entry) => entry },
    })
    for (const name of ['a', 'b', 'c', 'd']) entries.set(name, 1)
    entries.set('a', 2)
    expect(entries.prune(3, (entry) => entry === 2)).toEqual(['b', 'a'])
    expect(entries.all().map(([name]) => name)).toEqual(['c', 'd'])
  })

  it('writes the later state last, even to a slow disk', async () => {
    const datastore = await datastoreInTest()
    const batch = datastore.batch.bind(datastore)
    let slow = Promise.withResolvers<void>()
    datastore.batch = () => {
      const made = batch()
      const commit = made.commit.bind(made)
      const { promise } = slow
      made.commit = async () => {
        await promise
        await commit()
      }
      return made
    }
    const entries = await open(datastore)
    entries.set('a', 1)
    const first = slow
    const flushes = [entries.flush()]
    await new Promise(setImmediate)
    slow = Promise.withResolvers()
    slow.resolve()
    entries.set('a', 2)
    flushes.push(entries.flush())
    await new Promise(setImmediate)
    first.resolve()
    await Promise.all(flushes)
    expect(await stored(datastore)).toEqual({ a: 2 })
  })

  it('writes entries of a failed write at the next write', async () => {
    const datastore = await datastoreInTest()
    const entries = await open(datastore)
    entries.set('a', 1)
    await datastore.close()
    await entries.flush()
    await datastore.open()
    await entries.flush()
    expect(await stored(datastore)).toEqual({ a: 1 })
  })
})
