import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createTimedCache } from './timedCache.ts'

it('reads a key again after its time, when it was dropped, and when reading it failed', async () => {
  const clock = new ManualClock(1_000_000)
  const reads: string[] = []
  let fails = true
  const cache = createTimedCache(
    {
      clock,
      async read(key: string) {
        reads.push(key)
        if (fails) throw new Error('not open')
        return reads.length
      },
    },
    { keptMs: 60_000 },
  )
  await expect(cache.get('a')).rejects.toThrow('not open')
  fails = false
  expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual([2, 2])
  await clock.advance(59_999)
  expect(await cache.get('a')).toBe(2)
  await clock.advance(1)
  expect(await cache.get('a')).toBe(3)
  expect(await cache.get('b')).toBe(4)
  cache.drop('a')
  expect([await cache.get('b'), await cache.get('a')]).toEqual([4, 5])
  expect(reads).toEqual(['a', 'a', 'a', 'b', 'a'])
})
