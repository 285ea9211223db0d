import type { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { describe, expect, it } from 'vitest'
import { datastoreInTest } from '../testUtils/inTest.ts'
import { createEntryWriter } from './entryWriter.ts'

function writerOver(datastore: LevelDatastore, entries: Map<string, unknown>) {
  return createEntryWriter({ datastore, entry: (name) => entries.get(name) }, { prefix: '/entries/' })
}

async function stored(datastore: LevelDatastore): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for await (const { key, value } of datastore.query({ prefix: '/entries/' })) {
    found[key.name()] = JSON.parse(Buffer.from(value).toString())
  }
  return found
}

describe('createEntryWriter', () => {
  it('writes the current value of changed entries, and deletes removed ones', async () => {
    const datastore = await datastoreInTest()
    await datastore.put(new Key('/entries/old'), Buffer.from('1'))
    const entries = new Map<string, unknown>([
      ['a', { n: 1 }],
      ['unchanged', 2],
    ])
    const writer = writerOver(datastore, entries)
    writer.changed('a')
    writer.changed('old')
    entries.set('a', { n: 3 })
    await writer.flush()
    expect(await stored(datastore)).toEqual({ a: { n: 3 } })
    entries.set('a', { n: 4 })
    await writer.flush()
    expect(await stored(datastore)).toEqual({ a: { n: 3 } })
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
    const entries = new Map<string, unknown>([['a', 1]])
    const writer = writerOver(datastore, entries)
    writer.changed('a')
    const first = slow
    const flushes = [writer.flush()]
    await new Promise(setImmediate)
    slow = Promise.withResolvers()
    slow.resolve()
    entries.set('a', 2)
    writer.changed('a')
    flushes.push(writer.flush())
    await new Promise(setImmediate)
    first.resolve()
    await Promise.all(flushes)
    expect(await stored(datastore)).toEqual({ a: 2 })
  })

  it('writes entries of a failed write at the next write', async () => {
    const datastore = await datastoreInTest()
    const entries = new Map<string, unknown>([['a', 1]])
    const writer = writerOver(datastore, entries)
    writer.changed('a')
    await datastore.close()
    await writer.flush()
    await datastore.open()
    await writer.flush()
    expect(await stored(datastore)).toEqual({ a: 1 })
  })
})
