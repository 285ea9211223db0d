import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { type ChannelProgress, computeSyncActions } from './syncActions.ts'
import { type BatcherSyncStatus, parseSyncStatus } from './syncStatus.ts'

const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`
const blocks = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ number: from + index, hash: hashOf(from + index) }))

function status(safe: number, unsafe: number, currentL1 = 100): BatcherSyncStatus {
  const id = (number: number) => ({ number, hash: hashOf(number) })
  return {
    headL1: id(101),
    currentL1: id(currentL1),
    safeL2: { ...id(safe), l1OriginNumber: 90 },
    unsafeL2: id(unsafe),
  }
}

const channel = (latest: number | undefined, change: Partial<ChannelProgress> = {}): ChannelProgress => ({
  latestL2: latest === undefined ? undefined : { number: latest },
  isFullySubmitted: false,
  isTimedOut: false,
  lastInclusionBlock: 0,
  ...change,
})
const submitted = { isFullySubmitted: true, lastInclusionBlock: 99 }
const other = { number: 12, hash: hashOf(999) }

describe('computeSyncActions', () => {
  it.each([
    {
      id: 'nothing held: loads all unsafe blocks',
      status: status(5, 9),
      blocks: [],
      channels: [],
      expected: { kind: 'continue', load: { start: 6, end: 9 } },
    },
    {
      id: 'nothing held, nothing unsafe',
      status: status(9, 9),
      blocks: [],
      channels: [],
      expected: { kind: 'continue', load: undefined },
    },
    {
      id: 'new unsafe blocks',
      status: status(9, 14),
      blocks: blocks(10, 12),
      channels: [],
      expected: { kind: 'continue', load: { start: 13, end: 14 } },
    },
    {
      id: 'safe head moved',
      status: status(11, 12),
      blocks: blocks(10, 12),
      channels: [channel(11), channel(12)],
      expected: { kind: 'continue', load: undefined },
    },
    {
      id: 'everything is safe',
      status: status(12, 13),
      blocks: blocks(10, 12),
      channels: [channel(12, submitted)],
      expected: { kind: 'continue', load: { start: 13, end: 13 } },
    },
    {
      id: 'channel only partly safe',
      status: status(11, 12),
      blocks: blocks(10, 12),
      channels: [channel(12)],
      expected: { kind: 'continue', load: undefined },
    },
    {
      id: 'channel without blocks stays',
      status: status(11, 12),
      blocks: blocks(10, 12),
      channels: [channel(undefined)],
      expected: { kind: 'continue', load: undefined },
    },
    {
      id: 'submitted, but not yet derivable',
      status: status(9, 12, 99),
      blocks: blocks(10, 12),
      channels: [channel(12, submitted)],
      expected: { kind: 'continue', load: undefined },
    },
    {
      id: 'safe head fell below what is held',
      status: status(8, 12),
      blocks: blocks(10, 12),
      channels: [],
      expected: {
        kind: 'startAfresh',
        reason: 'next safe block is below oldest block in state',
      },
    },
    {
      id: 'safe head beyond what is held',
      status: status(13, 15),
      blocks: blocks(10, 12),
      channels: [],
      expected: { kind: 'startAfresh', reason: 'safe head above newest block in state' },
    },
    {
      id: 'another block is safe',
      status: { ...status(12, 12), safeL2: { ...other, l1OriginNumber: 1 } },
      blocks: blocks(10, 13),
      channels: [],
      expected: {
        kind: 'startAfresh',
        reason: 'safe chain reorg: the safe block is not the one in state',
      },
    },
    {
      id: 'another block is the unsafe head',
      status: { ...status(9, 12), unsafeL2: other },
      blocks: blocks(10, 13),
      channels: [],
      expected: {
        kind: 'startAfresh',
        reason: 'unsafe chain reorg: the unsafe head is not the block in state',
      },
    },
    {
      id: 'submitted channel was not derived',
      status: status(9, 12),
      blocks: blocks(10, 12),
      channels: [channel(12, submitted)],
      expected: {
        kind: 'startAfresh',
        reason: 'sequencer did not make expected progress',
      },
    },
    {
      id: 'timed-out channel is expected not to be',
      status: status(9, 12),
      blocks: blocks(10, 12),
      channels: [channel(12, { ...submitted, isTimedOut: true })],
      expected: { kind: 'continue', load: undefined },
    },
  ])('$id', ({ status: now, blocks: held, channels, expected }) => {
    expect(computeSyncActions(now, status(0, 0, 99), undefined, held, channels)).toEqual(expected)
  })

  it("is out of sync when the node's current L1 block went back", () => {
    expect(computeSyncActions(status(9, 12, 98), status(9, 12, 99), undefined, [], [])).toEqual({
      kind: 'outOfSync',
      reason: 'sequencer currentL1 reversed',
    })
  })
})

describe('a safe head that went back', () => {
  const before = status(9, 12, 100)
  const low = status(4, 12, 100)

  it('is rejected while the node reports the same L1 block, as after its restart', () => {
    const doubt = { kind: 'outOfSync', reason: 'the safe head went back at the same L1 block' }
    expect(computeSyncActions(low, before, undefined, blocks(10, 12), [])).toEqual(doubt)
    expect(computeSyncActions(low, before, status(3, 12, 100), blocks(10, 12), [])).toEqual(doubt)
  })

  it('is accepted once the node has advanced or repeats its answer', () => {
    expect(computeSyncActions(status(4, 12, 101), before, low, blocks(10, 12), []).kind).toBe('startAfresh')
    expect(computeSyncActions(low, before, low, blocks(10, 12), []).kind).toBe('startAfresh')
  })
})

describe('parseSyncStatus', () => {
  const ref = (number: number) => ({ hash: hashOf(number + 1), number, l1origin: { hash: hashOf(7), number: 3 } })
  const json = { head_l1: ref(9), current_l1: ref(8), unsafe_l2: ref(6), safe_l2: ref(4) }

  it('takes local_safe_l2, or safe_l2 if there is no local_safe_l2', () => {
    expect(parseSyncStatus(json)?.safeL2).toEqual({ hash: hashOf(5), number: 4, l1OriginNumber: 3 })
    expect(parseSyncStatus({ ...json, local_safe_l2: ref(5) })?.safeL2.number).toBe(5)
  })

  it('takes safe_l2 if local_safe_l2 is empty', () => {
    const empty = { hash: hashOf(0), number: 0, l1origin: { hash: hashOf(0), number: 0 } }
    expect(parseSyncStatus({ ...json, local_safe_l2: empty })?.safeL2).toMatchObject({ number: 4, l1OriginNumber: 3 })
  })

  it.each(['head_l1', 'current_l1', 'unsafe_l2', 'safe_l2'])('is not usable while %s is empty', (name) => {
    expect(parseSyncStatus({ ...json, [name]: { ...ref(0), hash: hashOf(0) } })).toBeUndefined()
  })

  it.each([
    { change: { head_l1: null }, field: 'head_l1' },
    { change: { current_l1: [] }, field: 'current_l1' },
    { change: { unsafe_l2: { ...ref(1), number: '1' } }, field: 'unsafe_l2.number' },
    { change: { safe_l2: { ...ref(1), hash: '0x1' } }, field: 'safe_l2.hash' },
  ])('names the wrong field: $field', ({ change, field }) => {
    expect(() => parseSyncStatus({ ...json, ...change })).toThrow(errorWith('decode', field))
  })
})
