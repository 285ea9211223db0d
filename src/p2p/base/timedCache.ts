import type { Clock } from '../../lib/clock.ts'

/** Keeps each result of `read` for `keptMs`. A failed read is not kept. */
export function createTimedCache<Key, T>(
  modules: { clock: Pick<Clock, 'now'>; read(key: Key): Promise<T> },
  { keptMs }: { keptMs: number },
) {
  const kept = new Map<Key, { result: Promise<T>; atMs: number }>()
  return {
    get(key: Key): Promise<T> {
      const known = kept.get(key)
      const nowMs = modules.clock.now()
      // The clock may have been set back.
      if (known !== undefined && Math.abs(nowMs - known.atMs) < keptMs) return known.result
      const latest = { result: modules.read(key), atMs: nowMs }
      kept.set(key, latest)
      latest.result.catch(() => {
        if (kept.get(key) === latest) kept.delete(key)
      })
      return latest.result
    },
    drop: (key: Key): boolean => kept.delete(key),
  }
}
