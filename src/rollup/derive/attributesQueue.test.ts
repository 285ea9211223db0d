import { describe, expect, it } from 'vitest'
import type { PayloadAttributes } from '../protocol/types.ts'
import { AttributesQueue } from './attributesQueue.ts'
import type { BatchStageLike, NextBatch } from './batchStages.ts'
import { fakeHash, l2Ref, testConfig } from './testUtils/config.ts'
import { ScriptedStage } from './testUtils/stages.ts'

const PARENT = l2Ref(4, 1)
const DEPOSIT = Uint8Array.of(0x7e)

function setUp(batch: Partial<NextBatch['batch']>, gasLimit = 30_000_000n) {
  const fitting: NextBatch['batch'] = {
    ...{ type: 'singular', parentHash: PARENT.hash, epochNumber: 1, epochHash: fakeHash('l1', 1) },
    ...{ timestamp: PARENT.timestamp + 2, transactions: [Uint8Array.of(2)], ...batch },
  }
  const prev: BatchStageLike & ScriptedStage<NextBatch> = new ScriptedStage<NextBatch>()
  prev.push({ batch: fitting, isLastInSpan: true })
  const calls = { failing: false, prepared: [] as unknown[] }
  const builder = {
    async prepare(...what: unknown[]): Promise<PayloadAttributes> {
      if (calls.failing) throw new Error('L1 is away')
      calls.prepared.push(what)
      return {
        ...{ timestamp: fitting.timestamp, prevRandao: PARENT.hash, suggestedFeeRecipient: `0x${'00'.repeat(20)}` },
        ...{ transactions: [DEPOSIT], noTxPool: true, gasLimit },
      }
    },
  }
  return { queue: new AttributesQueue({ prev, builder }, testConfig('holocene')), prev, calls }
}

describe('attributes queue', () => {
  it('puts the transactions of a batch behind the deposits of its epoch', async () => {
    const { queue, calls } = setUp({})
    expect(await queue.next(PARENT)).toMatchObject({
      attributes: { transactions: [DEPOSIT, Uint8Array.of(2)] },
      parent: PARENT,
      isLastInSpan: true,
    })
    expect(calls.prepared).toEqual([[PARENT, { number: 1, hash: fakeHash('l1', 1) }]])
    expect(await queue.next(PARENT)).toBe('empty')
  })

  it.each([
    ['another parent', { parentHash: fakeHash('l2', 3) }],
    ['another time', { timestamp: PARENT.timestamp + 4 }],
  ])('requests a reset when a batch is for %s', async (_, batch) => {
    const { queue } = setUp(batch)
    await expect(queue.next(PARENT)).rejects.toMatchObject({ code: 'pipeline-mismatch', severity: 'reset' })
  })

  it('keeps a batch while L1 cannot be read, until the channel is flushed', async () => {
    const { queue, prev, calls } = setUp({})
    calls.failing = true
    await expect(queue.next(PARENT)).rejects.toThrow('away')
    await expect(queue.next(PARENT)).rejects.toThrow('away')
    queue.flushChannel()
    expect(prev.flushed).toBe(1)
    expect(await queue.next(PARENT)).toBe('empty')
  })

  it.each([
    { gasLimit: 30_000_000n, room: 32_768 },
    { gasLimit: 21_000n * 40_000n, room: 40_002 },
  ])('hands on no more transactions than could have gas: $gasLimit', async ({ gasLimit, room }) => {
    const transactions = Array.from({ length: 50_000 }, () => Uint8Array.of(2))
    const { queue } = setUp({ transactions }, gasLimit)
    const pulled = await queue.next(PARENT)
    expect(typeof pulled === 'object' && pulled.attributes.transactions.length).toBe(1 + room)
  })
})
