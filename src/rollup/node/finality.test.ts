import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { type L1BlockRef, type L2BlockRef, ZERO_HASH, ZERO_L2_REF } from '../protocol/types.ts'
import { type FinalityOptions, FinalityTracker } from './finality.ts'

function hash(text: string): Hex {
  return `0x${Buffer.from(text).toString('hex').padStart(64, '0')}`
}

function l1Block(number: number, fork = 'a'): L1BlockRef {
  return { hash: hash(`${fork}${number}`), number, parentHash: ZERO_HASH, timestamp: number }
}

function l2Block(number: number): L2BlockRef {
  return { ...ZERO_L2_REF, hash: hash(`L2 ${number}`), number }
}

function tracker(
  canonical: (number: number) => L1BlockRef | undefined = l1Block,
  options?: FinalityOptions,
): FinalityTracker {
  return new FinalityTracker({ l1: { blockInfoByNumber: async (number) => canonical(number) } }, options)
}

describe('FinalityTracker', () => {
  it('finds the highest block that is derived from finalized L1', async () => {
    const finality = tracker()
    for (const number of [10, 11, 13]) finality.record(l1Block(number), l2Block(number * 2))
    expect(await finality.find(ZERO_L2_REF)).toBeUndefined()
    finality.signal(l1Block(12))
    expect((await finality.find(ZERO_L2_REF))?.number).toBe(22)
    expect(await finality.find(l2Block(22))).toBeUndefined()
    finality.signal(l1Block(9))
    expect((await finality.find(ZERO_L2_REF))?.number).toBe(22)
  })

  it('keeps the last safe head of an L1 block', async () => {
    const finality = tracker()
    finality.record(l1Block(10), l2Block(20))
    finality.record(l1Block(10), l2Block(25))
    finality.signal(l1Block(10))
    expect((await finality.find(ZERO_L2_REF))?.number).toBe(25)
  })

  it.each<[FinalityOptions | undefined, number]>([
    [undefined, 129],
    [{ lookback: 0 }, 129],
    [{ lookback: 10 }, 10],
  ])('forgets blocks beyond the limit: %o', async (options, kept) => {
    const finality = tracker(l1Block, options)
    for (let number = 1; number <= 200; number++) finality.record(l1Block(number), l2Block(number))
    const oldest = 201 - kept
    finality.signal(l1Block(oldest - 1))
    expect(await finality.find(ZERO_L2_REF)).toBeUndefined()
    finality.signal(l1Block(oldest))
    expect((await finality.find(ZERO_L2_REF))?.number).toBe(oldest)
  })

  it.each([
    ['the recorded block', 10],
    ['the finalized block', 12],
  ])('requires a reset when %s is not canonical', async (_name, reorged) => {
    const finality = tracker((number) => l1Block(number, number === reorged ? 'b' : 'a'))
    finality.record(l1Block(10), l2Block(20))
    finality.signal(l1Block(12))
    await expect(finality.find(ZERO_L2_REF)).rejects.toMatchObject({ severity: 'reset' })
  })

  it.each([
    ['missing', undefined, 'temporary'],
    ['another', l1Block(99, 'b'), 'reset'],
  ])('forgets a signal whose L1 block is %s', async (_name, canonical, severity) => {
    const finality = tracker((number) => (number === 99 ? canonical : l1Block(number)))
    finality.record(l1Block(10), l2Block(20))
    finality.signal(l1Block(99))
    await expect(finality.find(ZERO_L2_REF)).rejects.toMatchObject({ severity })
    expect(finality.signal(l1Block(12))).toBe(true)
    expect((await finality.find(ZERO_L2_REF))?.number).toBe(20)
  })

  it('drops a result that a reset has made stale', async () => {
    const finality = tracker((number) => {
      finality.reset()
      return l1Block(number)
    })
    finality.record(l1Block(10), l2Block(20))
    finality.signal(l1Block(12))
    expect(await finality.find(ZERO_L2_REF)).toBeUndefined()
  })

  it.each<[FinalityOptions | undefined, number]>([
    [undefined, 64],
    [{ delay: 0 }, 64],
    [{ delay: 5 }, 5],
  ])('is due again after that many derived L1 blocks: %o', async (options, delay) => {
    const finality = tracker(l1Block, options)
    expect(finality.isDue(1000)).toBe(false)
    finality.record(l1Block(10), l2Block(20))
    finality.signal(l1Block(9))
    await finality.find(ZERO_L2_REF)
    expect(finality.isDue(9 + delay)).toBe(false)
    expect(finality.isDue(10 + delay)).toBe(true)
  })
})
