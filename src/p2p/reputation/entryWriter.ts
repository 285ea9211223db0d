import { type Datastore, Key } from 'interface-datastore'
import type { z } from 'zod'

/** The peer-store functions that devium's own entries need. */
export type EntryStore = Pick<Datastore, 'query' | 'delete' | 'batch'>

/** Tracks the changed entries of an in-memory map and writes only these. Without a datastore nothing is written. */
export function createEntryWriter(
  modules: {
    datastore: Pick<EntryStore, 'batch'> | undefined
    /** The current value, JSON-ready; undefined: the entry was removed. */
    entry(name: string): unknown
  },
  options: {
    /** Key prefix, with a trailing slash. */
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
      // The store logs the error.
      for (const name of taken) names.add(name)
    }
  }
  return {
    /** Must be called when the entry changed or was removed. */
    changed(name: string): void {
      if (datastore !== undefined) names.add(name)
    },
    /** Writes all changes in one batch, after earlier batches. A failed batch is retried with the next flush. */
    flush(): Promise<void> {
      written = written.then(write)
      return written
    },
  }
}

/** Decodes a stored entry; undefined when it does not match the schema. */
export function readEntry<T>(schema: z.ZodType<T>, bytes: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data
  } catch {
    return undefined
  }
}
