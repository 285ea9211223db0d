import { expect, it } from 'vitest'
import { PromiseCache } from './promiseCache.ts'

it('evicts the least recently used entry, and does not keep failures and absences', async () => {
  const cache = new PromiseCache<string | undefined>(2)
  const loads: string[] = []
  const load = (key: string, value: string | undefined | Error) =>
    cache.get(key, async () => {
      loads.push(key)
      if (value instanceof Error) throw value
      return value
    })
  const get = (key: string) => load(key, key)
  await get('a')
  await get('b')
  await get('a')
  await get('c')
  await get('a')
  expect(loads).toEqual(['a', 'b', 'c'])
  await get('b')
  expect(loads).toEqual(['a', 'b', 'c', 'b'])
  expect(cache.size).toBe(2)

  await expect(load('x', new Error('failed'))).rejects.toThrow('failed')
  expect(await load('x', 'now')).toBe('now')
  expect(await load('y', undefined)).toBeUndefined()
  expect(await load('y', 'here')).toBe('here')
})
