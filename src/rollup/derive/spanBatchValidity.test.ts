import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { encodeDepositTx, l1InfoDepositTx, type SpanBatch, type SpanBatchElement } from '../protocol/index.ts'
import { spanBatchOf } from '../protocol/testUtils/spanBatch.ts'
import type { Fork, PayloadEnvelope, RollupConfig } from '../protocol/types.ts'
import type { BatchContext, BatchVerdict } from './batchValidity.ts'
import { ReadySpan } from './readySpan.ts'
import { checkSpanBatch, checkSpanBatchHolocene, checkSpanBatchPrefix, type L2Lookup } from './spanBatchValidity.ts'
import { fakeHash, GENESIS_TIME, l1Ref, l2Ref, testConfig } from './testUtils/config.ts'

// L2: blocks 1 and 2 have L1 origin 0, blocks 3 to 5 origin 1, and so on. The safe head is block 4 (time 8). L1 is
// known from its origin 1 (time 6) to 3 (time 18). A span usually has blocks 5 (origin 1), 6 and 7 (origin 2, time 12).
const PARENT = l2Ref(4, 1, 1)
const TX = Uint8Array.of(0x02, 0xc0)

type Element = Pick<SpanBatchElement, 'timestamp' | 'epochNumber' | 'transactions'>

function element(number: number, epochNumber: number, transactions: Uint8Array[] = [TX]): Element {
  return { timestamp: GENESIS_TIME + number * 2, epochNumber, transactions }
}

function span(elements: Element[], change: Partial<SpanBatch> = {}, parent = 4): SpanBatch {
  const last = elements.at(-1)?.epochNumber ?? 0
  return spanBatchOf({
    parentCheck: check20(fakeHash('l2', parent)),
    l1OriginCheck: check20(fakeHash('l1', last)),
    elements,
    ...change,
  })
}

function check20(hash: `0x${string}`): `0x${string}` {
  return `0x${hash.slice(2, 42)}`
}

/** The safe chain: each block with one transaction, `TX`. */
function payload(number: number, origin: number, transactions = [TX]): PayloadEnvelope {
  const config = testConfig('granite')
  const info = { ...l1Ref(origin), mixHash: fakeHash('mix', origin), baseFeePerGas: 1n }
  const time = GENESIS_TIME + number * 2
  const deposit = encodeDepositTx(l1InfoDepositTx(config, config.genesis.systemConfig, 0, info, time))
  const zero = fakeHash('zero', 0)
  return {
    payload: {
      parentHash: fakeHash('l2', number - 1),
      feeRecipient: `0x${'00'.repeat(20)}`,
      stateRoot: zero,
      receiptsRoot: zero,
      logsBloom: `0x${'00'.repeat(256)}`,
      prevRandao: zero,
      blockNumber: number,
      gasLimit: 1n,
      gasUsed: 1n,
      timestamp: time,
      extraData: '0x',
      baseFeePerGas: 1n,
      blockHash: fakeHash('l2', number),
      transactions: [deposit, ...transactions],
    },
  }
}

const safeChain: L2Lookup = {
  blockRefByNumber: async (number) => l2Ref(number, number < 3 ? 0 : 1),
  payloadByNumber: async (number) => payload(number, number < 3 ? 0 : 1),
}

const NEXT = [element(5, 1), element(6, 2), element(7, 2)]
const OVERLAP = [element(3, 1), element(4, 1), element(5, 1)]

interface Case {
  id: string
  batch: SpanBatch
  context?: Partial<BatchContext>
  fork?: Fork | 'bedrock'
  config?: Partial<RollupConfig>
  expected: BatchVerdict
}

const accept: BatchVerdict = { kind: 'accept' }
const dropped = (reason: string): BatchVerdict => ({ kind: 'drop', reason: expect.stringContaining(reason) })
const undecided: BatchVerdict = { kind: 'undecided', reason: expect.any(String) }

const PREFIX_CASES: Case[] = [
  { id: 'continues the safe chain', batch: span(NEXT), expected: accept },
  { id: 'no L1 block known', batch: span(NEXT), context: { l1Blocks: [] }, expected: undecided },
  {
    id: 'first epoch is the next one and not known',
    batch: span([element(6, 2)], {}, 5),
    context: { parent: l2Ref(5, 1), l1Blocks: [l1Ref(1)] },
    expected: undecided,
  },
  {
    id: 'first epoch before Delta',
    config: { forks: { delta: l1Ref(2).timestamp } },
    batch: span(NEXT),
    expected: dropped('before Delta'),
  },
  {
    id: 'first epoch is that of Delta',
    config: { forks: { delta: l1Ref(2).timestamp } },
    batch: span([element(6, 2)], {}, 5),
    context: { parent: l2Ref(5, 1) },
    expected: accept,
  },
  { id: 'before Delta', fork: 'canyon', batch: span(NEXT), expected: dropped('before Delta') },
  { id: 'in the future', batch: span([element(6, 2)]), expected: { kind: 'future' } },
  { id: 'in the future, Holocene', fork: 'holocene', batch: span([element(6, 2)]), expected: dropped('future') },
  { id: 'in the past', batch: span([element(3, 1), element(4, 1)], {}, 2), expected: dropped('past') },
  {
    id: 'in the past, Holocene',
    fork: 'holocene',
    batch: span([element(3, 1), element(4, 1)], {}, 2),
    expected: { kind: 'past' },
  },
  { id: 'overlaps the safe chain', batch: span(OVERLAP, {}, 2), expected: accept },
  { id: 'overlaps the safe head alone', batch: span([element(4, 1), element(5, 1)], {}, 3), expected: accept },
  {
    id: 'overlaps all since genesis',
    batch: span(
      [1, 2, 3, 4, 5].map((number) => element(number, number < 3 ? 0 : 1)),
      {},
      0,
    ),
    expected: accept,
  },
  { id: 'begins between two blocks', batch: span([element(4.5, 1), element(5.5, 1)]), expected: dropped('between') },
  {
    id: 'does not meet the block time',
    batch: span([element(3.5, 1), element(5.5, 1)]),
    expected: dropped('block time'),
  },
  {
    id: 'begins at genesis',
    batch: span([0, 1, 2, 3, 4, 5].map((number) => element(number, number < 3 ? 0 : 1))),
    expected: undecided,
  },
  {
    id: 'other parent',
    batch: span(NEXT, { parentCheck: check20(fakeHash('l2', 3)) }),
    expected: dropped('parent check'),
  },
  { id: 'other parent of an overlap', batch: span(OVERLAP), expected: dropped('parent check') },
  {
    id: 'included with the last block of the window',
    batch: span(NEXT),
    context: { inclusion: l1Ref(11) },
    expected: accept,
  },
  { id: 'included late', batch: span(NEXT), context: { inclusion: l1Ref(12) }, expected: dropped('sequencing window') },
  { id: 'first epoch two ahead', batch: span([element(5, 3)]), expected: dropped('more than one ahead') },
  {
    id: 'end of another fork',
    batch: span(NEXT, { l1OriginCheck: check20(fakeHash('fork', 2)) }),
    expected: dropped('L1 origin check'),
  },
  {
    id: 'end not known yet',
    batch: span([...NEXT, element(8, 3), element(9, 3), element(10, 4)]),
    expected: undecided,
  },
  { id: 'end older than the safe head', batch: span([element(5, 0)]), expected: undecided },
  { id: 'first epoch below zero', batch: span([element(5, 2 ** 64), element(6, 0)]), expected: dropped('ahead') },
  {
    id: 'first epoch older than its parent',
    batch: span([element(5, 0), element(6, 1)]),
    expected: dropped('older than its parent'),
  },
]

const BLOCK_CASES: Case[] = [
  {
    id: 'epoch unknown in the middle',
    batch: span([element(5, 1), element(6, 9), element(7, 2)]),
    expected: dropped('epoch 9'),
  },
  {
    id: 'block before its origin',
    batch: span([element(5, 2)]),
    expected: dropped("before the L1 origin's timestamp"),
  },
  {
    id: 'transactions beyond the drift',
    batch: span([element(14, 1)], {}, 13),
    context: { parent: l2Ref(13, 1) },
    expected: dropped('too far ahead'),
  },
  {
    id: 'empty beyond the drift, next origin in reach',
    batch: span([element(14, 1, [])], {}, 13),
    context: { parent: l2Ref(13, 1) },
    expected: dropped('next L1 origin'),
  },
  {
    id: 'empty beyond the drift, next origin later',
    batch: span([element(14, 1, [])], {}, 13),
    context: { parent: l2Ref(13, 1), l1Blocks: [l1Ref(1), { ...l1Ref(2), timestamp: GENESIS_TIME + 40 }] },
    expected: accept,
  },
  {
    id: 'empty beyond the drift, next origin unknown',
    batch: span([element(14, 1, [])], {}, 13),
    context: { parent: l2Ref(13, 1), l1Blocks: [l1Ref(1)] },
    expected: undecided,
  },
  {
    id: 'empty beyond the drift of a new epoch',
    batch: span([element(24, 2, [])], {}, 23),
    context: { parent: l2Ref(23, 1) },
    expected: accept,
  },
  { id: 'deposit', batch: span([element(5, 1), element(6, 2, [Uint8Array.of(0x7e)])]), expected: dropped('deposit') },
  { id: 'empty transaction', batch: span([element(5, 1, [new Uint8Array(0)])]), expected: dropped('is empty') },
  { id: 'set-code transaction', batch: span([element(5, 1, [Uint8Array.of(4)])]), expected: dropped('set-code') },
  { id: 'type 0x7d', batch: span([element(5, 1, [Uint8Array.of(0x7d)])]), expected: dropped('before Lagoon') },
  {
    id: 'overlap with other transactions',
    batch: span([element(3, 1, [Uint8Array.of(0x02, 0xc1)]), element(4, 1), element(5, 1)], {}, 2),
    expected: dropped('transactions differ'),
  },
  {
    id: 'overlap with fewer transactions',
    batch: span([element(3, 1, []), element(4, 1), element(5, 1)], {}, 2),
    expected: dropped('transactions differ'),
  },
  {
    id: 'overlap with one transaction more',
    batch: span([element(3, 1, [TX, TX]), element(4, 1), element(5, 1)], {}, 2),
    expected: dropped('transactions differ'),
  },
  {
    id: 'empty beyond the drift, second of an epoch that the span began',
    batch: span([element(24, 2), element(34, 2, [])], {}, 23),
    context: { parent: l2Ref(23, 1), l1Blocks: [l1Ref(1), { ...l1Ref(2), timestamp: GENESIS_TIME + 46 }, l1Ref(3)] },
    expected: dropped('next L1 origin'),
  },
  {
    id: 'overlap with another origin',
    batch: span([element(3, 0), element(4, 1), element(5, 1)], {}, 2),
    expected: dropped('L1 origin differs from that of L2 block 3'),
  },
]

function judge({ fork = 'delta', config, context }: Case): BatchContext {
  return {
    config: testConfig(fork, config),
    l1Blocks: [l1Ref(1), l1Ref(2), l1Ref(3)],
    parent: PARENT,
    inclusion: l1Ref(3),
    ...context,
  }
}

describe('prefix of span batches', () => {
  it.each(PREFIX_CASES)('$id', async (testCase) => {
    const { verdict, parentBlock } = await checkSpanBatchPrefix(judge(testCase), testCase.batch, safeChain)
    expect(verdict).toEqual(testCase.expected)
    expect(parentBlock === undefined).toBe(verdict.kind !== 'accept')
  })
})

describe('validity of span batches before Holocene', () => {
  it.each([...PREFIX_CASES.filter(({ fork }) => fork !== 'holocene'), ...BLOCK_CASES])('$id', async (testCase) => {
    expect(await checkSpanBatch(judge(testCase), testCase.batch, safeChain)).toEqual(testCase.expected)
  })

  it('checks the overlap from Holocene on too, but not the other blocks', async () => {
    const holocene = (batch: SpanBatch) =>
      checkSpanBatchHolocene(judge({ id: '', batch, expected: accept }), batch, safeChain)
    expect(await holocene(span(OVERLAP, {}, 2))).toEqual(accept)
    const other = [element(3, 1), element(4, 1, []), element(5, 1)]
    expect(await holocene(span(other, {}, 2))).toEqual(dropped('transactions differ from those of L2 block 4'))
    expect(await holocene(span([element(5, 1, [Uint8Array.of(0x7e)])]))).toEqual(accept)
  })

  it('compares each transaction of the overlap', async () => {
    const other = Uint8Array.of(0x02, 0xc1)
    const two = { ...safeChain, payloadByNumber: async (number: number) => payload(number, 1, [TX, TX]) }
    const overlap = (transactions: Uint8Array[]) => {
      const batch = span([element(4, 1, transactions), element(5, 1)], {}, 3)
      return checkSpanBatchHolocene(judge({ id: '', batch, expected: accept }), batch, two)
    }
    expect(await overlap([TX, TX])).toEqual(accept)
    expect(await overlap([TX, other])).toEqual(dropped('transactions differ'))
    expect(await overlap([other, TX])).toEqual(dropped('transactions differ'))
  })

  it.each<[string, Partial<L2Lookup>]>([
    ['parent', { blockRefByNumber: async () => undefined }],
    ['safe block', { payloadByNumber: async () => undefined }],
  ])('is judged later when the %s cannot be read', async (_, l2) => {
    const check = checkSpanBatch(judge({ id: '', batch: span([]), expected: accept }), span(OVERLAP, {}, 2), {
      ...safeChain,
      ...l2,
    })
    await expect(check).rejects.toMatchObject({ code: 'l2-block-missing', severity: 'temporary' })
  })
})

describe('taking a span batch apart', () => {
  const l1Blocks = [l1Ref(1), l1Ref(2)]
  const ready = () => new ReadySpan(silentLogger, 2)

  it('gives the blocks after the parent with its hash and those of their epochs, one after the other', () => {
    const rest = ready()
    expect(rest.set(span(NEXT), { l1Blocks, safeHead: l2Ref(5, 1) })).toBe(true)
    expect(rest.next(l2Ref(5, 1))).toMatchObject({
      parentHash: fakeHash('l2', 5),
      timestamp: GENESIS_TIME + 12,
      epochNumber: 2,
      epochHash: fakeHash('l1', 2),
    })
    expect(rest.isEmpty).toBe(false)
    expect(rest.next(l2Ref(6, 2))).toMatchObject({ parentHash: fakeHash('l2', 6), timestamp: GENESIS_TIME + 14 })
    expect(rest.isEmpty).toBe(true)
    expect(rest.next(l2Ref(7, 2))).toBeUndefined()
  })

  it('forgets the rest when the parent is not the block that it gave', () => {
    const rest = ready()
    rest.set(span(NEXT), { l1Blocks, safeHead: PARENT })
    expect(rest.next(l2Ref(5, 1))).toBeUndefined()
    expect(rest.isEmpty).toBe(true)
  })

  it.each([
    ['last', [element(5, 1), element(6, 3)]],
    ['first', [element(5, 0), element(6, 1)]],
  ])('takes none whose %s origin is not known', (_, elements) => {
    expect(ready().set(span(elements), { l1Blocks, safeHead: PARENT })).toBe(false)
  })
})
