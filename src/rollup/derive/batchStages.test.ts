import { describe, expect, it } from 'vitest'
import { createLogger, silentLogger } from '../../lib/logger.ts'
import type { Batch, SingularBatch } from '../protocol/index.ts'
import { spanBatchOf } from '../protocol/testUtils/spanBatch.ts'
import type { L2BlockRef } from '../protocol/types.ts'
import { BatchQueue } from './batchQueue.ts'
import { BatchStage } from './batchStage.ts'
import type { BatchStageLike, NextBatch } from './batchStages.ts'
import type { DerivationEvent } from './events.ts'
import { L1Window } from './l1Window.ts'
import type { L2Lookup } from './spanBatchValidity.ts'
import { fakeHash, GENESIS_TIME, l1Ref, l2Ref, testConfig } from './testUtils/config.ts'
import { ScriptedStage } from './testUtils/stages.ts'
import type { Pull } from './types.ts'

// L2 blocks 3n to 3n+2 have L1 origin n (2 seconds an L2 block, 6 seconds an L1 block).

function originOf(number: number): number {
  return Math.floor(number / 3)
}

function batchOf(number: number, change: Partial<SingularBatch> = {}): SingularBatch {
  const epochNumber = change.epochNumber ?? originOf(number)
  return {
    type: 'singular',
    parentHash: fakeHash('l2', number - 1),
    epochNumber,
    epochHash: fakeHash('l1', epochNumber),
    timestamp: GENESIS_TIME + number * 2,
    transactions: [Uint8Array.of(2, number)],
    ...change,
  }
}

function spanOf(from: number, to: number, parent = from - 1): Batch {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  return spanBatchOf({
    parentCheck: `0x${fakeHash('l2', parent).slice(2, 42)}`,
    l1OriginCheck: `0x${fakeHash('l1', originOf(to)).slice(2, 42)}`,
    elements: numbers.map((number) => ({
      timestamp: GENESIS_TIME + number * 2,
      epochNumber: originOf(number),
      originChanged: number % 3 === 0,
      transactions: [Uint8Array.of(2, number)],
    })),
  })
}

/** The span with these transactions in one of its blocks; `index` starts at 0. */
function withTransactions(span: Batch, index: number, transactions: Uint8Array[]): Batch {
  const element = span.type === 'span' ? span.elements[index] : undefined
  if (element === undefined) throw new RangeError(`no block ${index} in the span`)
  element.transactions = transactions
  return span
}

const POST_EXEC = Uint8Array.of(0x7d, 0xc2, 1, 3)

const noLookups: L2Lookup = {
  blockRefByNumber: () => Promise.reject(new Error('no lookup expected')),
  payloadByNumber: () => Promise.reject(new Error('no lookup expected')),
}

interface Rig {
  prev: ScriptedStage<Batch | 'again'>
  stage: BatchStageLike
  lines: string[]
  emitted: DerivationEvent[]
}

/** A stage whose pipeline starts at L1 block `start`. */
function rig(rules: 'queue' | 'stage', { start = 0, l2 = noLookups, seqWindowSize = 10, forks = {} } = {}): Rig {
  const prev = new ScriptedStage<Batch | 'again'>().at(start)
  const [lines, emitted]: [string[], DerivationEvent[]] = [[], []]
  const logger = createLogger({ level: 'info', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const emit = (event: DerivationEvent) => emitted.push(event)
  const modules = { prev, l2, window: new L1Window(prev.origin), logger, emit }
  const base = testConfig(rules === 'queue' ? 'granite' : 'holocene', { seqWindowSize })
  const config = { ...base, forks: { ...base.forks, ...forks } }
  const stage = rules === 'queue' ? new BatchQueue(modules, config) : new BatchStage(modules, config)
  return { prev, stage, lines, emitted }
}

function at(number: number): L2BlockRef {
  return l2Ref(number, originOf(number), number % 3)
}

/** Pulls until an item comes or the stage is empty. The caller builds the blocks. */
async function pull(stage: BatchStageLike, parent: L2BlockRef): Promise<NextBatch | 'empty'> {
  for (let calls = 0; calls < 1000; calls++) {
    const pulled: Pull<NextBatch> = await stage.next(parent)
    if (pulled !== 'again') return pulled
  }
  throw new Error('the stage never comes to an answer')
}

/** Numbers of the blocks that come out from `parent` on; `*` marks empty batches. */
async function run(stage: BatchStageLike, parent: number): Promise<string> {
  const out: string[] = []
  for (let number = parent; ; ) {
    const pulled = await pull(stage, at(number))
    if (pulled === 'empty') return out.join(' ')
    expect(pulled.batch.parentHash).toBe(fakeHash('l2', number))
    number = (pulled.batch.timestamp - GENESIS_TIME) / 2
    out.push(`${number}${pulled.batch.transactions.length === 0 ? '*' : ''}`)
  }
}

describe.each(['queue', 'stage'] as const)('batch %s', (rules) => {
  it('returns nothing before it reaches the L1 origin of the safe head', async () => {
    const { prev, stage } = rig(rules, { start: 1 })
    for (let number = 1; number < 4; number++) {
      prev.at(number).push(batchOf(13), spanOf(13, 14))
      expect(await run(stage, 12)).toBe('')
    }
    prev.at(4)
    expect(await run(stage, 12)).toBe('')
    prev.at(5).push(batchOf(13), spanOf(14, 15))
    expect(await run(stage, 12)).toBe('13 14 15')
  })

  it('skips batches that are already safe', async () => {
    const { prev, stage, lines } = rig(rules)
    prev.at(1).push(batchOf(1), batchOf(2), spanOf(1, 2), batchOf(3))
    expect(await run(stage, 2)).toBe('3')
    expect(lines).toEqual([])
  })

  it('advances from epoch to epoch', async () => {
    const { prev, stage } = rig(rules)
    prev.at(1)
    expect(await run(stage, 0)).toBe('')
    prev.at(2).push(batchOf(1), batchOf(2), batchOf(3), spanOf(4, 6))
    expect(await run(stage, 0)).toBe('1 2 3 4 5 6')
    prev.at(3).push(batchOf(7))
    expect(await run(stage, 6)).toBe('7')
  })

  it('drops the rest of a span when its last block was refused', async () => {
    const { prev, stage } = rig(rules)
    prev.at(1).push(spanOf(1, 5))
    expect(await pull(stage, at(0))).toMatchObject({ batch: { timestamp: GENESIS_TIME + 2 } })
    expect(await pull(stage, at(0))).toBe('empty')
    expect(await pull(stage, at(1))).toBe('empty')
  })

  it('retries a batch that was undecided', async () => {
    let failing = true
    const l2: L2Lookup = {
      async blockRefByNumber(number) {
        if (failing) throw new Error('engine is away')
        return at(number)
      },
      payloadByNumber: noLookups.payloadByNumber,
    }
    const { prev, stage } = rig(rules, { l2 })
    prev.at(1).push(spanOf(1, 4, 9))
    await expect(pull(stage, at(2))).rejects.toThrow('engine is away')
    failing = false
    // The batch is checked now: its parent check is wrong.
    expect(await pull(stage, at(2))).toBe('empty')
    prev.push(batchOf(3))
    expect(await run(stage, 2)).toBe('3')
  })

  it('accepts a batch that was undecided at first', async () => {
    let failing = true
    const l2: L2Lookup = {
      async blockRefByNumber() {
        if (failing) throw new Error('engine is away')
        return undefined
      },
      payloadByNumber: noLookups.payloadByNumber,
    }
    const { prev, stage } = rig(rules, { l2 })
    prev.at(1).push(spanOf(1, 4), batchOf(3))
    await expect(pull(stage, at(2))).rejects.toThrow('engine is away')
    failing = false
    // The stage checks the same batch again and does not skip it.
    await expect(pull(stage, at(2))).rejects.toMatchObject({ code: 'l2-block-missing' })
  })

  it('creates empty batches after the sequencing window, first for the epoch of the parent', async () => {
    const { prev, stage } = rig(rules, { seqWindowSize: 3 })
    for (let number = 1; number <= 3; number++) {
      expect(await run(stage, 0)).toBe('')
      prev.at(number)
    }
    expect(await run(stage, 0)).toBe('1* 2*')
    prev.at(4)
    expect(await run(stage, 2)).toBe('3* 4* 5*')
  })

  it('prefers a batch to an empty batch', async () => {
    const { prev, stage } = rig(rules, { seqWindowSize: 3 })
    for (let number = 1; number <= 2; number++) {
      prev.at(number)
      expect(await run(stage, 0)).toBe('')
    }
    prev.at(3).push('again', batchOf(1), 'again')
    expect(await run(stage, 0)).toBe('1 2*')
  })

  it('reads the remaining data of the lower stages before it creates an empty batch', async () => {
    const { prev, stage } = rig(rules, { seqWindowSize: 3 })
    prev.at(1)
    expect(await run(stage, 2)).toBe('')
    // As if several L1 blocks had arrived at once: the batch is of the next epoch, whose window has not ended.
    prev.at(4).push('again', 'again', batchOf(3))
    expect(await pull(stage, at(2))).toMatchObject({ batch: { transactions: [Uint8Array.of(2, 3)] } })
  })

  it("requires a reset when its L1 blocks do not match the parent's origin", async () => {
    const { prev, stage } = rig(rules)
    prev.at(1)
    await run(stage, 0)
    prev.at(2)
    const foreign = { ...at(1), l1Origin: { number: 0, hash: fakeHash('fork', 0) } }
    await expect(pull(stage, foreign)).rejects.toMatchObject({ code: 'pipeline-mismatch', severity: 'reset' })
  })
})

describe('batch queue', () => {
  it('keeps future batches, and picks the first valid one', async () => {
    const { prev, stage } = rig('queue')
    const second = batchOf(1, { transactions: [Uint8Array.of(2, 99)] })
    prev.at(1).push(batchOf(2), batchOf(4), batchOf(3), batchOf(1), second)
    expect(await run(stage, 0)).toBe('1 2 3 4')
  })

  it('creates an empty batch at the last block of the window only when no more data can arrive', async () => {
    const { prev, stage } = rig('queue', { seqWindowSize: 3 })
    for (let number = 1; number <= 2; number++) {
      prev.at(number)
      expect(await run(stage, 0)).toBe('')
    }
    prev.at(3).push(batchOf(2), batchOf(1))
    expect(await run(stage, 0)).toBe('1 2')
  })

  it('drops an invalid batch and reports it', async () => {
    const { prev, stage, lines } = rig('queue')
    prev.at(1).push(batchOf(1, { parentHash: fakeHash('l2', 77) }), batchOf(1))
    expect(await run(stage, 0)).toBe('1')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('parent hash')
  })

  it('reports a kept batch that becomes invalid, but not a past batch', async () => {
    const { prev, stage, emitted } = rig('queue')
    prev.at(1).push(batchOf(2, { parentHash: fakeHash('l2', 77) }), batchOf(2), batchOf(2), batchOf(1), batchOf(3))
    expect(await run(stage, 0)).toBe('1 2 3')
    const reason = expect.stringContaining('parent hash')
    expect(emitted).toEqual([{ kind: 'batch-dropped', l1Block: 1, type: 'singular', reason, losesChannel: false }])
  })

  it('waits for L1 at an undecided batch, and keeps later batches', async () => {
    const { prev, stage } = rig('queue')
    // A span whose end has an unknown L1 origin.
    prev.at(1).push(spanOf(1, 7), batchOf(1))
    expect(await run(stage, 0)).toBe('')
    prev.at(2)
    expect(await run(stage, 0)).toBe('1 2 3 4 5 6 7')
  })

  it('marks the last block of a span', async () => {
    const { prev, stage } = rig('queue')
    prev.at(1).push(spanOf(1, 3), batchOf(4))
    const last: boolean[] = []
    for (let number = 0; number < 4; number++) {
      const pulled = await pull(stage, at(number))
      last.push(pulled !== 'empty' && pulled.isLastInSpan)
    }
    expect(last).toEqual([false, false, true, true])
  })
})

describe('batch stage of Holocene', () => {
  it('keeps no future batches', async () => {
    const { prev, stage } = rig('stage')
    prev.at(1).push(batchOf(2), batchOf(1))
    expect(await run(stage, 0)).toBe('1')
    expect(prev.flushed).toBe(1)
  })

  it.each([
    ['singular', batchOf(1, { parentHash: fakeHash('l2', 77) })],
    ['span', spanOf(1, 2, 77)],
  ])('flushes the channel of an invalid %s batch', async (_, batch) => {
    const { prev, stage, lines, emitted } = rig('stage')
    prev.at(1).push(batch)
    expect(await run(stage, 0)).toBe('')
    expect(prev.flushed).toBe(1)
    expect(lines).toHaveLength(1)
    expect(emitted).toMatchObject([{ kind: 'batch-dropped', l1Block: 1, type: batch.type, losesChannel: true }])
  })

  it('flushes the channel at the first invalid block of a span, and keeps the blocks before it', async () => {
    const { prev, stage } = rig('stage')
    prev.at(1).push(withTransactions(spanOf(1, 4), 2, [Uint8Array.of(0x7e)]))
    expect(await run(stage, 0)).toBe('1 2')
    expect(prev.flushed).toBe(1)
  })

  // Each block is checked at its own time (ethereum-optimism/optimism#22101, specs #947).
  it('accepts a span across Lagoon with type 0x7d after Lagoon', async () => {
    const { prev, stage } = rig('stage', { forks: { lagoon: GENESIS_TIME + 4 } })
    const span = withTransactions(withTransactions(spanOf(1, 4), 1, []), 2, [POST_EXEC])
    prev.at(1)
    expect(await run(stage, 0)).toBe('')
    prev.at(2).push(span, batchOf(5, { transactions: [POST_EXEC] }))
    expect(await run(stage, 0)).toBe('1 2* 3 4 5')
  })

  it('drops a span from its first block with type 0x7d before Lagoon, and its channel', async () => {
    const { prev, stage, emitted } = rig('stage', { forks: { lagoon: GENESIS_TIME + 100 } })
    prev.at(1).push(withTransactions(spanOf(1, 4), 2, [POST_EXEC]))
    expect(await run(stage, 0)).toBe('1 2')
    expect(prev.flushed).toBe(1)
    const reason = expect.stringContaining('before Lagoon')
    expect(emitted).toEqual([{ kind: 'batch-dropped', l1Block: 1, type: 'singular', reason, losesChannel: true }])
  })

  it('drops a span with an L1 origin newer than its inclusion block, without a flush', async () => {
    const { prev, stage, emitted } = rig('stage')
    prev.at(1).push(spanOf(1, 7), batchOf(1))
    expect(await run(stage, 0)).toBe('1')
    expect(prev.flushed).toBe(0)
    const reason = expect.stringContaining('not known')
    expect(emitted).toEqual([{ kind: 'batch-dropped', l1Block: 1, type: 'span', reason, losesChannel: false }])
  })

  it('accepts a span that overlaps the safe chain, from the end of the safe chain', async () => {
    const l2: L2Lookup = {
      blockRefByNumber: async (number) => at(number),
      payloadByNumber: () => Promise.reject(new Error('overlap is compared')),
    }
    const { prev, stage } = rig('stage', { l2 })
    prev.at(1).push(spanOf(2, 4))
    await expect(run(stage, 2)).rejects.toThrow('overlap is compared')
  })

  it('marks every block as the last of its span', async () => {
    const { prev, stage } = rig('stage')
    prev.at(1).push(spanOf(1, 3))
    for (let number = 0; number < 3; number++) {
      expect(await pull(stage, at(number))).toMatchObject({ isLastInSpan: true })
    }
    for (let number = 2; number <= 11; number++) {
      expect(await pull(stage, at(3))).toBe('empty')
      prev.at(number)
    }
    expect(await pull(stage, at(3))).toMatchObject({ batch: { transactions: [] }, isLastInSpan: true })
  })

  it('requires a reset when it starts above the L1 origin of the safe head', async () => {
    const modules = {
      prev: new ScriptedStage<Batch>().at(9),
      l2: noLookups,
      window: new L1Window(l1Ref(9)),
      logger: silentLogger,
    }
    const stage = new BatchStage(modules, testConfig('holocene'))
    await expect(stage.next(at(3))).rejects.toMatchObject({ code: 'pipeline-mismatch', severity: 'reset' })
  })
})
