import { expect, it } from 'vitest'
import { durationMsIn, formatDuration, parseDurationMs } from './duration.ts'
import { UsageError } from './errors.ts'

it('durations are parsed and formatted as in Go', () => {
  expect(parseDurationMs('1h2m3.5s4ms')).toBe(3_723_504)
  expect(['2.01s', '16.1s', '1.5ms', '100us', '1200h'].map(parseDurationMs)).toEqual([
    2_010, 16_100, 2, 1, 4_320_000_000,
  ])
  expect(formatDuration(384_000)).toBe('384s')
  expect(formatDuration(600_000)).toBe('10m')
  expect(() => parseDurationMs('-1s')).toThrow(UsageError)
})

it('a client must send a duration above 0, or none', () => {
  expect(['2s', '1m30s', '500ms'].map(durationMsIn)).toEqual([2_000, 90_000, 500])
  expect(['0', '0s', '', '2', 'soon', 2, null, undefined, ['2s']].map(durationMsIn)).toEqual(
    new Array(9).fill(undefined),
  )
})
