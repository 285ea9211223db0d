import { expect, it } from 'vitest'
import { fromNowText, utcText } from './phrases.ts'

const NOW = 1_800_000_000
const DAY = 86_400

it.each([
  [0, '0 s ago'],
  [-59, '59 s ago'],
  [-3 * DAY + 1, '2 days ago'],
  [30, 'in 30 s'],
  [599, 'in 10 min'],
  [3 * DAY - 1, 'in 3 days'],
  [2.4 * DAY, 'in 2 days'],
])('describes a time %i s away: %s', (seconds, text) => {
  expect(fromNowText(NOW + seconds, NOW)).toBe(text)
})

it('writes times in UTC, and handles times beyond the range of Date', () => {
  expect(utcText(NOW)).toBe('2027-01-15 08:00:00 UTC')
  expect(utcText(Number.MAX_SAFE_INTEGER)).toMatch(/^\+275760-09-13/)
})
