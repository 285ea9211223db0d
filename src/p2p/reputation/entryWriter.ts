import { type Datastore, Key } from 'interface-datastore'
import type { z } from 'zod'

/** The peer store as far as entries of our own are kept in it. */
export type EntryStore = Pick<Datastore, 'query' | 'delete' | 'batch'>

/**
 * Notes which entries of a map in memory have changed, and writes those.
 * Without a datastore nothing is kept.
 */
export function createEntryWriter(
  modules: {
    datastore: Pick<EntryStore, 'batch'> | undefined
    /** The entry as it is now, JSON-ready; undefined when it is gone. */
    entry(name: string): unknown
  },
  options: {
    /** Of the keys, with the slash at its end. */
    prefix: string
  },
) {
  const { datastore } = modules
  const names = new Set<string>()
  let written: Promise<void> = Promise.resolve()

  const write = async (): Promise<void> => {
    if (datastore === undefined || names.size === 0) return
    const taken = [...names]
    names.clear()
    try {
      const batch = datastore.batch()
      for (const name of taken) {
        const entry = modules.entry(name)
        const key = new Key(options.prefix + name)
        if (entry === undefined) batch.delete(key)
        else batch.put(key, Buffer.from(JSON.stringify(entry)))
      }
      await batch.commit()
    } catch {
      // The store itself tells of it.
      for (const name of taken) names.add(name)
    }
  }
  return {
    /** The entry is another, or is gone. */
    changed(name: string): void {
      if (datastore !== undefined) names.add(name)
    },
    /** In one batch, after those before. What could not be written is tried again with the next one. */
    flush(): Promise<void> {
      written = written.then(write)
      return written
    },
  }
}

/** An entry that was written; undefined when it is not what the schema says. */
export function readEntry<T>(schema: z.ZodType<T>, bytes: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data
  } catch {
    return undefined
  }
}
