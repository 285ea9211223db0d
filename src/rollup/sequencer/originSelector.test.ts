import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { L1Lookup } from '../engine/index.ts'
import { type L1BlockRef, type L2BlockRef, type RollupConfig, ZERO_HASH } from '../protocol/types.ts'
import { OriginError, OriginSelector } from './originSelector.ts'

const L1_BLOCK_TIME = 12
/** 1800 s since Fjord (L1 time 1200). */
const DRIFT = 60

function hash(number: number, fork = 'a'): Hex {
  return `0x${Buffer.from(`${fork}${number}`).toString('hex').padStart(64, '0')}`
}

function l1Block(number: number, fork = 'a'): L1BlockRef {
  return { hash: hash(number, fork), number, parentHash: hash(number - 1, fork), timestamp: number * L1_BLOCK_TIME }
}

/** An L2 block with this origin, `age` seconds after the origin. */
function parent(origin: number, age: number): L2BlockRef {
  return {
    hash: ZERO_HASH,
    number: 1,
    parentHash: ZERO_HASH,
    timestamp: origin * L1_BLOCK_TIME + age,
    l1Origin: { hash: hash(origin), number: origin },
    sequenceNumber: 0,
  }
}

function create(source: Partial<L1Lookup> = {}, confirmationDepth = 0) {
  const clock = new ManualClock()
  const reads: number[] = []
  const l1: L1Lookup = {
    blockInfoByHash: async (wanted) =>
      [...Array(200).keys()].map((number) => l1Block(number)).find((block) => block.hash === wanted),
    blockInfoByNumber: async (number) => {
      reads.push(number)
      return l1Block(number)
    },
    ...source,
  }
  const config = { blockTime: 2, maxSequencerDrift: DRIFT, forks: { fjord: 1200 } } as RollupConfig
  const selector = new OriginSelector({ l1, clock, logger: silentLogger }, config, { confirmationDepth })
  return { selector, clock, reads }
}

describe('OriginSelector', () => {
  it('keeps the origin until the next one is not younger than the block', async () => {
    const { selector } = create()
    expect((await selector.select(parent(5, 8))).number).toBe(5)
    expect((await selector.select(parent(5, 10))).number).toBe(6)
  })

  it('reads each L1 block once', async () => {
    const { selector, reads } = create()
    for (const age of [0, 2, 4, 6, 8, 10]) await selector.select(parent(5, age))
    await selector.select(parent(6, 0))
    expect(reads).toEqual([6, 7])
  })

  it('does not request blocks above the L1 head', async () => {
    const { selector, reads } = create()
    selector.onL1Head(l1Block(5))
    expect((await selector.select(parent(5, 20))).number).toBe(5)
    expect(reads).toEqual([])
    selector.onL1Head(l1Block(6))
    expect((await selector.select(parent(5, 22))).number).toBe(6)
  })

  it('ignores blocks without enough confirmations', async () => {
    const { selector } = create({}, 4)
    selector.onL1Head(l1Block(9))
    expect((await selector.select(parent(5, 20))).number).toBe(5)
    selector.onL1Head(l1Block(10))
    expect((await selector.select(parent(5, 20))).number).toBe(6)
  })

  it('reports the next origin as missing if L1 is unreadable beyond the drift', async () => {
    const { selector } = create({ blockInfoByNumber: () => Promise.reject(new Error('L1 is gone')) })
    expect((await selector.select(parent(5, DRIFT - 2))).number).toBe(5)
    await expect(selector.select(parent(5, DRIFT))).rejects.toMatchObject({
      ...{ code: 'origin-missing', severity: 'temporary', cause: { message: 'L1 is gone' } },
    })
    const lie = new OriginError('origin-reorged', 'it lies', { severity: 'critical' })
    await expect(
      create({ blockInfoByNumber: () => Promise.reject(lie) }).selector.select(parent(5, DRIFT)),
    ).rejects.toBe(lie)
  })

  it('requires the next origin only after the drift is exceeded', async () => {
    const { selector } = create({ blockInfoByNumber: async () => undefined })
    expect((await selector.select(parent(5, DRIFT - 2))).number).toBe(5)
    await expect(selector.select(parent(5, DRIFT))).rejects.toMatchObject({
      code: 'origin-missing',
      severity: 'temporary',
    })
    // The drift depends on the origin's L1 time: 1800 s since Fjord.
    expect((await selector.select(parent(100, DRIFT))).number).toBe(100)
    await expect(selector.select(parent(100, 1800))).rejects.toMatchObject({ code: 'origin-missing' })
  })

  it('works without the next origin when L1 fails or is slow', async () => {
    const failing = create({ blockInfoByNumber: () => Promise.reject(new Error('timeout')) })
    expect((await failing.selector.select(parent(5, 20))).number).toBe(5)
    const slow = create({ blockInfoByNumber: () => new Promise(() => {}) })
    const selecting = slow.selector.select(parent(5, 20))
    await slow.clock.advance(0)
    await slow.clock.advance(500)
    expect((await selecting).number).toBe(5)
  })

  it('requires a reset when L1 has another chain', async () => {
    const forked = create({ blockInfoByNumber: async (number) => l1Block(number, 'b') })
    await expect(forked.selector.select(parent(5, 20))).rejects.toMatchObject({
      code: 'origin-reorged',
      severity: 'reset',
    })
    const missing = create({ blockInfoByHash: async () => undefined })
    await expect(missing.selector.select(parent(5, 20))).rejects.toMatchObject({
      code: 'origin-reorged',
      severity: 'reset',
    })
  })

  it('waits for an L1 that lags behind the origin of the unsafe head', async () => {
    const { selector } = create({ blockInfoByHash: async () => undefined })
    selector.onL1Head(l1Block(4))
    await expect(selector.select(parent(5, 20))).rejects.toMatchObject({ code: 'origin-ahead', severity: 'temporary' })
    selector.onL1Head(l1Block(5))
    await expect(selector.select(parent(5, 20))).rejects.toMatchObject({ code: 'origin-reorged' })
  })

  it('prefetches the L1 block for the next block', async () => {
    const { selector, reads } = create()
    selector.prefetch(parent(5, 8))
    await new Promise((resolve) => setImmediate(resolve))
    expect(reads).toEqual([6])
    expect((await selector.select(parent(5, 10))).number).toBe(6)
    expect(reads).toEqual([6])
  })

  it('waits for a running read within the remaining time', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<L1BlockRef | undefined>()
    const { selector, clock } = create({ blockInfoByNumber: () => promise })
    selector.prefetch(parent(5, 8))
    await clock.advance(0)
    await clock.advance(400)
    const late = selector.select(parent(5, 10))
    await clock.advance(0)
    await clock.advance(100)
    expect((await late).number).toBe(5)
    const selecting = selector.select(parent(5, 10))
    answer(l1Block(6))
    expect((await selecting).number).toBe(6)
  })

  it('ignores a read that began before a reset', async () => {
    const answers: ((block: L1BlockRef | undefined) => void)[] = []
    const { selector } = create({ blockInfoByNumber: () => new Promise((resolve) => answers.push(resolve)) })
    selector.prefetch(parent(5, 8))
    await new Promise((resolve) => setImmediate(resolve))
    selector.reset()
    answers[0]?.({ ...l1Block(6, 'b'), parentHash: hash(5) })
    await new Promise((resolve) => setImmediate(resolve))
    const selecting = selector.select(parent(5, 10))
    await new Promise((resolve) => setImmediate(resolve))
    answers[1]?.(l1Block(6))
    expect((await selecting).hash).toBe(hash(6))
  })

  it('always requests the next origin in recover mode, and keeps its own if there is none', async () => {
    const { selector, reads } = create()
    selector.onL1Head(l1Block(5))
    selector.setRecoverMode(true)
    expect((await selector.select(parent(5, 8))).number).toBe(5)
    expect(reads).toEqual([6])
    const tip = create({ blockInfoByNumber: async () => undefined })
    tip.selector.setRecoverMode(true)
    expect((await tip.selector.select(parent(5, 20))).number).toBe(5)
    await expect(tip.selector.select(parent(5, DRIFT))).rejects.toMatchObject({ code: 'origin-missing' })
    const failing = create({ blockInfoByNumber: () => Promise.reject(new Error('timeout')) })
    failing.selector.setRecoverMode(true)
    await expect(failing.selector.select(parent(5, 20))).rejects.toThrow('timeout')
  })

  it('distinguishes a replaced origin from a missing one', async () => {
    const { selector } = create({ blockInfoByNumber: async (number) => (number > 9 ? undefined : l1Block(number)) })
    expect(await selector.isCanonical({ number: 5, hash: hash(5) })).toBe(true)
    expect(await selector.isCanonical({ number: 5, hash: hash(5, 'b') })).toBe(false)
    expect(await selector.isCanonical({ number: 10, hash: hash(10) })).toBe(true)
  })
})
