import { expect, it } from 'vitest'
import { forkRows } from '../dashboard/forkRows.ts'

const NOW = Date.UTC(2026, 10, 26, 12)
const lagoon = { name: 'lagoon', time: NOW / 1_000 + 3 * 86_400, ready: null, problem: null }
const nextOf = (next: typeof lagoon | object) =>
  forkRows({ active: 'karst', next: { ...lagoon, ...next } }, NOW).find(([name]) => name === 'Next fork')?.[1]

it('the page shows the active fork, and no next fork if none is scheduled', () => {
  expect(forkRows({ active: 'karst', next: null }, NOW)).toEqual([['Fork', 'Karst']])
})

it.each([
  ['whose readiness is unknown', {}, 'The readiness of the execution client is unknown.'],
  ['that the node is ready for', { ready: true }, 'This node is ready.'],
  ['that the node is not ready for', { ready: false, problem: 'It needs a file.' }, 'It needs a file.'],
])('the page shows a next fork %s', (_, change, readiness) => {
  expect(nextOf(change)).toBe(`Lagoon in 3 days (2026-11-29 12:00 UTC). ${readiness}`)
})

it('the page shows an overdue fork that the chain has not reached', () => {
  expect(nextOf({ time: NOW / 1_000 - 60 })).toMatch(/^Lagoon 60 s ago \(2026-11-26 11:59 UTC\)\. /)
})
