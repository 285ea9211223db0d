import { describe, expect, it } from 'vitest'
import { LruMap } from './lruMap.ts'

const filled = (...keys: string[]): LruMap<string, string> => {
  const map = new LruMap<string, string>(3)
  for (const key of keys) map.set(key, key)
  return map
}

describe('LruMap', () => {
  it('evicts the least recently used entry', () => {
    const map = filled('a', 'b', 'c')
    map.get('a')
    map.set('d', 'd')
    expect([...map.values()]).toEqual(['c', 'a', 'd'])
    expect(map.get('b')).toBeUndefined()
  })

  it('counts consecutive uses of an entry as one', () => {
    const map = filled('a', 'b', 'c')
    map.get('c')
    map.get('b')
    map.get('b')
    map.get('c')
    map.set('d', 'd')
    expect([...map.values()]).toEqual(['b', 'c', 'd'])
    map.get('b')
    map.set('c', 'new')
    map.get('d')
    map.set('e', 'e')
    expect([...map.values()]).toEqual(['new', 'd', 'e'])
  })

  it('is empty after clear', () => {
    const map = filled('a')
    map.clear()
    expect(map.get('a')).toBeUndefined()
    map.set('b', 'b')
    map.set('a', 'a')
    map.get('b')
    expect([...map.values()]).toEqual(['a', 'b'])
  })
})
