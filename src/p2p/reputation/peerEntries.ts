import { type Datastore, Key } from 'interface-datastore'
import type { z } from 'zod'

/** The peer-store functions that devium's own entries need. */
export type EntryStore = Pick<Datastore, 'query' | 'batch'>

/**
 * One entry for each peer: in memory, and in the datastore if there is one, which receives only changes. Stored entries
 * that do not match the schema are dropped.
 */
export async function openPeerEntries<T>(
  datastore: EntryStore | undefined,
  options: {
    /** Key prefix, with a trailing slash. */
    prefix: string
    schema: z.ZodType<T>
    updatedAt(entry: T): number
  },
) {
  const { prefix, schema, updatedAt } = options
  const found: [string, T][] = []
  const changed = new Set<string>()
  if (datastore !== undefined) {
    for await (const { key, value } of datastore.query({ prefix })) {
      const entry = readEntry(schema, value)
      if (entry === undefined) changed.add(key.name())
      else found.push([key.name(), entry])
    }
  }
  const damaged = changed.size
  /** Oldest update first. */
  const entries = new Map(found.sort(([, a], [, b]) => updatedAt(a) - updatedAt(b)))
  let written: Promise<void> = Promise.resolve()

  const write = async (): Promise<void> => {
    if (datastore === undefined || changed.size === 0) return
    const taken = [...changed]
    changed.clear()
    try {
      const batch = datastore.batch()
      for (const peerId of taken) {
        const entry = entries.get(peerId)
        const key = new Key(prefix + peerId)
        if (entry === undefined) batch.delete(key)
        else batch.put(key, Buffer.from(JSON.stringify(entry)))
      }
      await batch.commit()
    } catch {
      // The store logs the error.
      for (const peerId of taken) changed.add(peerId)
    }
  }
  const onChange = (peerId: string): void => {
    if (datastore !== undefined) changed.add(peerId)
  }
  const remove = (peerId: string): void => {
    if (entries.delete(peerId)) onChange(peerId)
  }
  return {
    /** Number of stored entries that were dropped. */
    damaged,
    get: (peerId: string): T | undefined => entries.get(peerId),
    all: (): [peerId: string, entry: T][] => [...entries],
    /** Sets an entry, which becomes the latest. */
    set(peerId: string, entry: T): void {
      entries.delete(peerId)
      entries.set(peerId, entry)
      onChange(peerId)
    },
    remove,
    /** Removes expired entries, and the oldest above the limit. Returns their peers. */
    prune(limit: number, isExpired: (entry: T) => boolean = () => false): string[] {
      const excess = entries.size - limit
      const pruned = [...entries].filter(([, entry], index) => index < excess || isExpired(entry))
      for (const [peerId] of pruned) remove(peerId)
      return pruned.map(([peerId]) => peerId)
    },
    /** Writes all changes, after earlier ones. What could not be written is tried again by the next flush. */
    flush(): Promise<void> {
      written = written.then(write)
      return written
    },
  }
}

function readEntry<T>(schema: z.ZodType<T>, bytes: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data
  } catch {
    return undefined
  }
}
