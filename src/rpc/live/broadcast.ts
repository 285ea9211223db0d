import { serialize } from '../../jsonRpc/bodyChunks.ts'

export type Notify = (content: string) => void

/** Starts emitting values; the returned function stops it. */
export type Source<T extends object = object> = (emit: (value: T) => void) => () => void

export interface Broadcast {
  listen(notify: Notify): () => void
}

/**
 * Sends the values of one source to all listeners, serialized once for all of them. The source runs only while there
 * are listeners. `repeatsLast`: the values are states, so a new listener receives the last one at once.
 */
export function createBroadcast(source: Source, { repeatsLast }: { repeatsLast: boolean }): Broadcast {
  const listeners = new Set<Notify>()
  let last: string | undefined
  let end: (() => void) | undefined
  const emit = (value: object): void => {
    const content = serialize(value)
    if (repeatsLast) last = content
    for (const notify of listeners) notify(content)
  }
  return {
    listen(given) {
      // Wrapped, so that two listeners with the same function are distinct.
      const notify: Notify = (content) => given(content)
      listeners.add(notify)
      if (last !== undefined) notify(last)
      end ??= source(emit)
      return () => {
        if (!listeners.delete(notify) || listeners.size > 0) return
        end?.()
        end = undefined
        last = undefined
      }
    },
  }
}
