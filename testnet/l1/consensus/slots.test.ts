import { expect, it } from 'vitest'
import { nextSlot, slotAt, timeOfSlot } from './slots.ts'

const times = { genesisTime: 1_000, secondsPerSlot: 2 }

it('counts slots from the genesis time', () => {
  expect([1_000, 1_001, 1_002, 1_060].map((timestamp) => slotAt(times, timestamp))).toEqual([0, 0, 1, 30])
  expect(timeOfSlot(times, 30)).toBe(1_060)
})

it.each([
  ['the slot after the head, before it begins', 1_010, 1_010_500, 6],
  ['the slot after the head, as it begins', 1_010, 1_012_000, 6],
  ['the next slot to begin, after a missed slot', 1_010, 1_012_001, 7],
  ['the next slot to begin, after a pause', 1_010, 2_000_000, 500],
  ['the slot after the head, with a slow clock', 1_010, 900_000, 6],
])('makes a block in %s', (_, head, nowMs, slot) => {
  expect(nextSlot(times, head, nowMs)).toBe(slot)
})
