import { expect, it } from 'vitest'
import { GenerationMap } from './generationMap.ts'

it('keeps what came last or was asked for', () => {
  const map = new GenerationMap<number, string>(8)
  for (let key = 0; key < 4; key++) map.set(key, `${key}`)
  for (let key = 4; key < 7; key++) map.set(key, `${key}`)
  expect(map.get(0)).toBe('0')
  for (let key = 10; key < 13; key++) map.set(key, `${key}`)
  expect([1, 0, 12].map((key) => map.get(key))).toEqual([undefined, '0', '12'])
})

it('never holds more than it may, and nothing once it is cleared', () => {
  const map = new GenerationMap<number, null>(100)
  const held = () => Array.from({ length: 1000 }, (_, key) => map.get(key)).filter((value) => value === null).length
  for (let key = 0; key < 1000; key++) map.set(key, null)
  expect(held()).toBeLessThanOrEqual(100)
  map.clear()
  expect(held()).toBe(0)
})
