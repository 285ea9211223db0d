import { NotFoundError } from '@libp2p/interface'
import type { Datastore, Key, Pair } from 'interface-datastore'

/**
 * Keeps in memory what the disk does not take, and writes it with the next entry that it does. libp2p writes down who has
 * connected before it tells anybody what that peer speaks: with a full disk nobody would come into the mesh any more.
 */
export function keepUnwritten(datastore: Datastore): void {
  /** By key; undefined: being removed. */
  const held = new Map<string, { key: Key; value: Uint8Array | undefined }>()
  let written: Promise<void> = Promise.resolve()

  const writeHeld = async (): Promise<void> => {
    const taken = [...held]
    if (taken.length === 0) return
    try {
      const batch = datastore.batch()
      for (const [, { key, value }] of taken) {
        if (value === undefined) batch.delete(key)
        else batch.put(key, value)
      }
      await batch.commit()
      for (const [name, entry] of taken) if (held.get(name) === entry) held.delete(name)
    } catch {
      // The store itself tells of it. What could not be removed is a peer more that is known; keeping its name would have
      // no end.
      for (const [name, entry] of taken) if (entry.value === undefined && held.get(name) === entry) held.delete(name)
    }
  }
  /** One batch after the other, or an older entry could overtake a newer one. */
  const write = (key: Key, value: Uint8Array | undefined): Promise<void> => {
    held.set(key.toString(), { key, value })
    written = written.then(writeHeld)
    return written
  }
  const get = datastore.get.bind(datastore)
  const query = datastore.query.bind(datastore)

  datastore.put = async (key, value) => {
    await write(key, value)
    return key
  }
  datastore.delete = (key) => write(key, undefined)
  // Not given up with what it is for: libp2p takes a peer that it could not read for one of whom it knows nothing, and
  // writes that down.
  datastore.get = (key) => {
    const entry = held.get(key.toString())
    if (entry === undefined) return get(key)
    if (entry.value === undefined) throw new NotFoundError()
    return entry.value
  }
  // Orders and limits, which libp2p does not ask for, are those of the disk's entries alone.
  datastore.query = async function* (of, options) {
    const instead = new Map(held)
    for await (const pair of query(of, options)) if (!instead.has(pair.key.toString())) yield pair
    for (const [name, { key, value }] of instead) {
      if (value === undefined || !name.startsWith(of.prefix ?? '')) continue
      const pair: Pair = { key, value }
      if (of.filters?.every((filter) => filter(pair)) ?? true) yield pair
    }
  }
}
