import { serialize } from '../../jsonRpc/bodyChunks.ts'

export type Notify = (content: string) => void

/** Begins to tell what happens; the returned function ends that. */
export type Source<T extends object = object> = (tell: (value: T) => void) => () => void

export interface Broadcast {
  /** The returned function ends it. */
  listen(notify: Notify): () => void
}

/**
 * Tells all listeners what one source tells, written once for all of them. The source runs only while there are listeners.
 * `repeatsLast`: what is told is a state, so whoever comes later hears the last one at once.
 */
export function createBroadcast(source: Source, { repeatsLast }: { repeatsLast: boolean }): Broadcast {
  const listeners = new Set<Notify>()
  let last: string | undefined
  let end: (() => void) | undefined
  const tell = (value: object): void => {
    const content = serialize(value)
    if (repeatsLast) last = content
    for (const notify of listeners) notify(content)
  }
  return {
    listen(given) {
      // Each listener is one of its own, also where two are the same function.
      const notify: Notify = (content) => given(content)
      listeners.add(notify)
      if (last !== undefined) notify(last)
      end ??= source(tell)
      return () => {
        if (!listeners.delete(notify) || listeners.size > 0) return
        end?.()
        end = undefined
        last = undefined
      }
    },
  }
}
