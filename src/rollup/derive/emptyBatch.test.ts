import { expect, it } from 'vitest'
import { checkWindow, nextEmptyBatch } from './emptyBatch.ts'
import { L1Window } from './l1Window.ts'
import { fakeHash, GENESIS_TIME, l1Ref, l2Ref, testConfig } from './testUtils/config.ts'

// The parent is L2 block 2 (time 4, L1 origin 0). L1 block 1 has time 6. The window of epoch 0 ends with L1 block 3.
const PARENT = l2Ref(2, 0)
const config = testConfig('granite', { seqWindowSize: 3 })

function windowTo(last: number, parent = PARENT, from = 0): L1Window {
  const window = new L1Window(l1Ref(from))
  for (let number = from; number <= last; number++) window.update(l1Ref(number), parent)
  return window
}

it.each([
  { last: 2, outOfData: true, due: false },
  { last: 3, outOfData: false, due: false },
  { last: 3, outOfData: true, due: true },
  { last: 4, outOfData: false, due: true },
])('an empty batch is due at L1 block $last, out of data $outOfData: $due', ({ last, outOfData, due }) => {
  const parent = l2Ref(1, 0)
  const batch = nextEmptyBatch(windowTo(last, parent), parent, { config, outOfData })
  expect(batch).toEqual(
    due
      ? {
          ...{ type: 'singular', parentHash: parent.hash, epochNumber: 0, epochHash: fakeHash('l1', 0) },
          ...{ timestamp: GENESIS_TIME + 4, transactions: [] },
        }
      : undefined,
  )
})

it('an epoch ends when L2 time reaches the time of the next L1 block', () => {
  const window = windowTo(4)
  expect(nextEmptyBatch(window, PARENT, { config, outOfData: true })).toBeUndefined()
  expect(window.blocks[0]?.number).toBe(1)
  expect(nextEmptyBatch(window, PARENT, { config, outOfData: true })?.epochNumber).toBe(1)
})

it('an epoch has at least one block, even if L2 time has reached the next L1 block', () => {
  const parent = l2Ref(9, 0)
  const window = windowTo(4, parent)
  window.dropFirst()
  expect(nextEmptyBatch(window, parent, { config, outOfData: true })).toMatchObject({ epochNumber: 1 })
})

it('no empty batch is due before the next L1 block is known', () => {
  const none = { ...config, seqWindowSize: 0 }
  const window = windowTo(0)
  expect(nextEmptyBatch(window, PARENT, { config: none, outOfData: true })).toBeUndefined()
  window.dropFirst()
  expect(nextEmptyBatch(window, PARENT, { config: none, outOfData: true })).toBeUndefined()
  expect(() => checkWindow(window, PARENT)).toThrow(expect.objectContaining({ code: 'derivation-invariant' }))
})

it('a window begins with the origin of the parent, or the next L1 block', () => {
  expect(() => checkWindow(windowTo(1), PARENT)).not.toThrow()
  expect(() => checkWindow(windowTo(2, l2Ref(2, 1), 1), PARENT)).not.toThrow()
  const mismatch = expect.objectContaining({ code: 'pipeline-mismatch', severity: 'reset' })
  expect(() => checkWindow(windowTo(3, l2Ref(2, 2), 2), PARENT)).toThrow(mismatch)
  expect(() => checkWindow(new L1Window(l1Ref(0, 'fork')), PARENT)).toThrow(mismatch)
})
