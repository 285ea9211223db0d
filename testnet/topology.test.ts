import { expect, it } from 'vitest'
import { neighboursAmong, parseTopology } from './topology.ts'

/** The peers that each of six nodes dials. */
const links = (text?: string) => {
  const topology = text === undefined ? undefined : parseTopology(text)
  return [0, 1, 2, 3, 4, 5].map((count) => neighboursAmong([...Array(count).keys()], topology))
}

it('links nodes by its kind', () => {
  expect(links()).toEqual([[], [0], [0, 1], [0, 1, 2], [0, 2, 3], [0, 3, 4]])
  expect(links('full').at(-1)).toEqual([0, 1, 2, 3, 4])
  expect(links('line')).toEqual([[], [0], [1], [2], [3], [4]])
  expect(links('star').at(-1)).toEqual([0])
})

it('chooses at random, and identically at each start', () => {
  const topology = parseTopology('random:3')
  const all = Array.from({ length: 40 }, (_, count) => neighboursAmong([...Array(count).keys()], topology))
  expect(all.slice(0, 3)).toEqual([[], [0], expect.toSatisfy((dialled: number[]) => dialled.length === 2)])
  for (const [count, dialled] of all.entries()) expect(new Set(dialled).size).toBe(Math.min(3, count))
  // The choice varies between nodes.
  expect(new Set(all.flat()).size).toBeGreaterThan(25)
  expect(Array.from({ length: 40 }, (_, count) => neighboursAmong([...Array(count).keys()], topology))).toEqual(all)
})

it.each(['ring', 'random', 'random:0', 'random:100', 'random:x', ''])('refuses "%s"', (text) => {
  expect(() => parseTopology(text)).toThrow('expected full, line, star, or random:K')
})
