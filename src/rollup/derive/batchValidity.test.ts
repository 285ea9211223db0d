import { describe, expect, it } from 'vitest'
import type { SingularBatch } from '../protocol/index.ts'
import type { Fork, RollupConfig } from '../protocol/types.ts'
import { type BatchContext, type BatchVerdict, checkSingularBatch } from './batchValidity.ts'
import { fakeHash, GENESIS_TIME, l1Ref, l2Ref, testConfig } from './testUtils/config.ts'

// L2 block 4 (time 8) has L1 origin 1 (time 6). L1 block 2 has time 12, block 3 time 18. The next L2 block is 5 at time
// 10.
const PARENT = l2Ref(4, 1)
const TX = Uint8Array.of(0x02, 0xc0)

function at(seconds: number): number {
  return GENESIS_TIME + seconds
}

function batchOf(change: Partial<SingularBatch> = {}): SingularBatch {
  return {
    type: 'singular',
    parentHash: PARENT.hash,
    epochNumber: 1,
    epochHash: fakeHash('l1', 1),
    timestamp: at(10),
    transactions: [TX],
    ...change,
  }
}

interface Case {
  id: string
  batch?: Partial<SingularBatch>
  context?: Partial<BatchContext>
  fork?: Fork | 'bedrock'
  config?: Partial<RollupConfig>
  expected: BatchVerdict
}

const accept: BatchVerdict = { kind: 'accept' }
const dropped = (reason: string): BatchVerdict => ({ kind: 'drop', reason: expect.stringContaining(reason) })
const undecided: BatchVerdict = { kind: 'undecided', reason: expect.any(String) }

/** With drift 20 and origin time 6, the block at time 26 is the last that may contain transactions: L2 block 13. */
const LATE_PARENT = l2Ref(13, 1)
const late = (change: Partial<SingularBatch>) => batchOf({ parentHash: LATE_PARENT.hash, timestamp: at(28), ...change })
const EPOCH_2 = { epochNumber: 2, epochHash: fakeHash('l1', 2) }
const L1_IS_SLOW = [l1Ref(1), { ...l1Ref(2), timestamp: at(40) }]

const CASES: Case[] = [
  { id: 'fits', expected: accept },
  { id: 'fits without transactions', batch: { transactions: [] }, expected: accept },
  { id: 'no L1 block known', context: { l1Blocks: [] }, expected: undecided },
  { id: 'in the future', batch: { timestamp: at(12) }, expected: { kind: 'future' } },
  { id: 'in the future, Holocene', fork: 'holocene', batch: { timestamp: at(12) }, expected: dropped('future') },
  { id: 'in the past', batch: { timestamp: at(8) }, expected: dropped('past') },
  { id: 'in the past, Holocene', fork: 'holocene', batch: { timestamp: at(8) }, expected: { kind: 'past' } },
  { id: 'between two blocks', batch: { timestamp: at(9) }, expected: dropped('past') },
  { id: 'other parent', batch: { parentHash: fakeHash('l2', 3) }, expected: dropped('parent hash') },
  {
    id: 'future is reported before a wrong parent',
    batch: { timestamp: at(12), parentHash: fakeHash('l2', 3) },
    expected: { kind: 'future' },
  },
  { id: 'included with the last block of the window', context: { inclusion: l1Ref(11) }, expected: accept },
  { id: 'included one block late', context: { inclusion: l1Ref(12) }, expected: dropped('sequencing window') },
  { id: 'older epoch', batch: { epochNumber: 0, epochHash: fakeHash('l1', 0) }, expected: dropped('older') },
  { id: 'next epoch too early', batch: EPOCH_2, expected: dropped("before the L1 origin's timestamp") },
  {
    id: 'next epoch in time',
    batch: { ...EPOCH_2, parentHash: l2Ref(5, 1).hash, timestamp: at(12) },
    context: { parent: l2Ref(5, 1) },
    expected: accept,
  },
  { id: 'next epoch not known', batch: EPOCH_2, context: { l1Blocks: [l1Ref(1)] }, expected: undecided },
  {
    id: 'epoch two ahead',
    batch: { epochNumber: 3, epochHash: fakeHash('l1', 3) },
    expected: dropped('more than one'),
  },
  { id: 'epoch of another fork', batch: { epochHash: fakeHash('fork', 1) }, expected: dropped('epoch hash') },
  {
    id: 'at the end of the drift',
    batch: batchOf({ parentHash: l2Ref(12, 1).hash, timestamp: at(26) }),
    context: { parent: l2Ref(12, 1) },
    expected: accept,
  },
  { id: 'beyond the drift', batch: late({}), context: { parent: LATE_PARENT }, expected: dropped('too far ahead') },
  {
    id: 'beyond the drift, empty, next origin in reach',
    batch: late({ transactions: [] }),
    context: { parent: LATE_PARENT },
    expected: dropped('next L1 origin'),
  },
  {
    id: 'beyond the drift, empty, next origin later',
    batch: late({ transactions: [] }),
    context: { parent: LATE_PARENT, l1Blocks: L1_IS_SLOW },
    expected: accept,
  },
  {
    id: 'beyond the drift, empty, next origin just in reach',
    batch: late({ transactions: [] }),
    context: { parent: LATE_PARENT, l1Blocks: [l1Ref(1), { ...l1Ref(2), timestamp: at(28) }] },
    expected: dropped('next L1 origin'),
  },
  {
    id: 'beyond the drift, empty, next origin unknown',
    batch: late({ transactions: [] }),
    context: { parent: LATE_PARENT, l1Blocks: [l1Ref(1)] },
    expected: undecided,
  },
  {
    id: 'beyond the drift of a new epoch, empty',
    batch: { ...EPOCH_2, parentHash: l2Ref(20, 1).hash, timestamp: at(42), transactions: [] },
    context: { parent: l2Ref(20, 1) },
    expected: accept,
  },
  {
    id: 'beyond the configured drift, Fjord',
    fork: 'fjord',
    batch: late({}),
    context: { parent: LATE_PARENT },
    expected: accept,
  },
  {
    id: 'beyond the drift of Fjord',
    fork: 'fjord',
    batch: batchOf({ parentHash: l2Ref(903, 1).hash, timestamp: at(1808) }),
    context: { parent: l2Ref(903, 1) },
    expected: dropped('too far ahead'),
  },
  {
    id: 'empty transaction',
    batch: { transactions: [TX, new Uint8Array(0)] },
    expected: dropped('transaction 1 is empty'),
  },
  { id: 'deposit', batch: { transactions: [Uint8Array.of(0x7e)] }, expected: dropped('deposit') },
  { id: 'set-code transaction', batch: { transactions: [Uint8Array.of(4)] }, expected: dropped('set-code') },
  {
    id: 'set-code transaction, Isthmus',
    fork: 'isthmus',
    batch: { transactions: [Uint8Array.of(4)] },
    expected: accept,
  },
  {
    id: 'type 0x7d',
    fork: 'karst',
    batch: { transactions: [Uint8Array.of(0x7d)] },
    expected: dropped('before Lagoon'),
  },
  { id: 'type 0x7d, Lagoon', fork: 'lagoon', batch: { transactions: [Uint8Array.of(0x7d)] }, expected: accept },
  { id: 'epoch of 64 bits', batch: { epochNumber: 2 ** 64 }, expected: dropped('more than one ahead') },
  {
    id: 'time of 64 bits, Holocene',
    fork: 'holocene',
    batch: { timestamp: 2 ** 64 },
    expected: dropped('in the future'),
  },
  {
    id: 'transactions in the activation block of Karst',
    fork: 'jovian',
    config: { forks: { jovian: 0, karst: at(10) } },
    expected: dropped('activation block of karst'),
  },
  {
    id: 'empty in the activation block of Karst',
    fork: 'jovian',
    config: { forks: { jovian: 0, karst: at(10) } },
    batch: { transactions: [] },
    expected: accept,
  },
  {
    id: 'transactions in the activation block of Jovian',
    fork: 'isthmus',
    config: { forks: { isthmus: 0, jovian: at(10) } },
    expected: dropped('activation block of jovian'),
  },
  {
    id: 'empty activation block of Jovian',
    config: { forks: { isthmus: 0, jovian: at(9) } },
    batch: { transactions: [] },
    expected: accept,
  },
  {
    id: 'transactions in the block after the activation of Jovian',
    config: { forks: { isthmus: 0, jovian: at(8) } },
    expected: accept,
  },
  { id: 'transactions in the activation block of Isthmus', config: { forks: { isthmus: at(10) } }, expected: accept },
]

describe('validity of singular batches', () => {
  it.each(CASES)('$id', ({ batch, context, fork = 'delta', config, expected }) => {
    const judged: BatchContext = {
      config: testConfig(fork, config),
      l1Blocks: [l1Ref(1), l1Ref(2), l1Ref(3)],
      parent: PARENT,
      inclusion: l1Ref(3),
      ...context,
    }
    expect(checkSingularBatch(judged, batchOf(batch))).toEqual(expected)
  })
})
