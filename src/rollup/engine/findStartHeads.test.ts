import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { createLogger, silentLogger } from '../../lib/logger.ts'
import { loopTurns } from '../../lib/nextTurn.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { ZERO_HASH } from '../protocol/types.ts'
import { findStartHeads, type StartHeadsOptions } from './findStartHeads.ts'
import type { L2BlockLabel } from './types.ts'

const BLOCKS_PER_ORIGIN = 2

function hash(kind: string, number: number): Hex {
  return `0x${Buffer.from(`${kind}${number}`).toString('hex').padStart(64, '0')}`
}

/** L1 from 0 to `head`. From `forkAt` on, its blocks differ from those that L2 was built on. */
function l1Chain(head: number, forkAt = Number.POSITIVE_INFINITY) {
  const name = (number: number) => (number >= forkAt ? 'fork' : 'one')
  const at = (number: number): L1BlockRef | undefined =>
    number < 0 || number > head
      ? undefined
      : { hash: hash(name(number), number), number, parentHash: hash(name(number - 1), number - 1), timestamp: number }
  return {
    blockInfoByNumber: async (number: number) => at(number),
    blockInfoByHash: async (wanted: Hex) => {
      for (let number = head; number >= 0; number--) if (at(number)?.hash === wanted) return at(number)
      return undefined
    },
  }
}

/** L2 blocks 0 to `head`, two for each origin, all built on chain "one". */
function l2Chain(head: number, labels: Partial<Record<L2BlockLabel, number>> = {}) {
  const at = (number: number): L2BlockRef => ({
    hash: hash('L2', number),
    number,
    parentHash: number === 0 ? ZERO_HASH : hash('L2', number - 1),
    timestamp: number,
    l1Origin: {
      hash: hash('one', Math.floor(number / BLOCKS_PER_ORIGIN)),
      number: Math.floor(number / BLOCKS_PER_ORIGIN),
    },
    sequenceNumber: number % BLOCKS_PER_ORIGIN,
  })
  return {
    at,
    blockRefByLabel: async (label: L2BlockLabel) => {
      const number = label === 'latest' ? (labels.latest ?? head) : labels[label]
      return number === undefined ? undefined : at(number)
    },
    blockRefByHash: async (wanted: Hex) => {
      for (let number = 0; number <= head; number++) if (at(number).hash === wanted) return at(number)
      return undefined
    },
    blockRefByNumber: async (number: number) => (number <= head ? at(number) : undefined),
  }
}

function config(seqWindowSize: number): RollupConfig {
  return {
    genesis: {
      l1: { hash: hash('one', 0), number: 0 },
      l2: { hash: hash('L2', 0), number: 0 },
      l2Time: 0,
      systemConfig: { batcherAddress: '0x', overhead: '0x', scalar: '0x', gasLimit: 1n },
    },
    blockTime: 1,
    maxSequencerDrift: 600,
    seqWindowSize,
    channelTimeout: 10,
    l1ChainId: 1n,
    l2ChainId: 2n,
    forks: {},
    batchInboxAddress: '0x',
    depositContractAddress: '0x',
    l1SystemConfigAddress: '0x',
  }
}

const clock = new ManualClock()

async function numbers(
  engine: Pick<ReturnType<typeof l2Chain>, 'blockRefByLabel' | 'blockRefByHash' | 'blockRefByNumber'>,
  l1: Pick<ReturnType<typeof l1Chain>, 'blockInfoByHash' | 'blockInfoByNumber'>,
  seqWindowSize: number,
  options: StartHeadsOptions & { logger?: typeof silentLogger } = {},
): Promise<{ unsafe: number; safe: number; finalized: number }> {
  const { unsafe, safe, finalized } = await findStartHeads(
    { engine, l1, clock, logger: options.logger ?? silentLogger },
    config(seqWindowSize),
    options,
  )
  return { unsafe: unsafe.number, safe: safe.number, finalized: finalized.number }
}

describe('findStartHeads', () => {
  it.each([
    { id: 'new chain', l2: l2Chain(0), l1: l1Chain(3), window: 10, expected: { unsafe: 0, safe: 0, finalized: 0 } },
    {
      id: 'safe goes back to finalized within the window',
      l2: l2Chain(20, { safe: 12, finalized: 6 }),
      l1: l1Chain(10),
      window: 10,
      expected: { unsafe: 20, safe: 6, finalized: 6 },
    },
    {
      id: 'safe goes back a window from the highest canonical origin',
      l2: l2Chain(40, { safe: 38, finalized: 2 }),
      l1: l1Chain(20),
      window: 5,
      // Origin 20 is the highest. Origin 14 is the first below its window, and block 27 is the last before that epoch.
      expected: { unsafe: 40, safe: 27, finalized: 2 },
    },
    {
      id: 'unsafe goes back below a reorganised origin',
      l2: l2Chain(20, { safe: 4, finalized: 2 }),
      l1: l1Chain(12, 8),
      window: 100,
      expected: { unsafe: 15, safe: 2, finalized: 2 },
    },
    {
      id: 'unsafe stays when its origins are ahead of this L1',
      l2: l2Chain(20, { safe: 4, finalized: 2 }),
      l1: l1Chain(7),
      window: 100,
      expected: { unsafe: 20, safe: 2, finalized: 2 },
    },
    {
      id: 'an unsafe head behind safe takes all with it',
      l2: l2Chain(20, { latest: 5, safe: 9, finalized: 2 }),
      l1: l1Chain(12),
      window: 100,
      expected: { unsafe: 5, safe: 5, finalized: 5 },
    },
    {
      id: 'a long chain without labels is taken as recovered',
      l2: l2Chain(100),
      l1: l1Chain(60),
      window: 3,
      expected: { unsafe: 100, safe: 100, finalized: 100 },
    },
  ])('$id', async ({ l2, l1, window, expected }) => {
    expect(await numbers(l2, l1, window)).toEqual(expected)
  })

  it('keeps the tip of a recovered engine, and moves safe and finalized back by the offset', async () => {
    expect(await numbers(l2Chain(100), l1Chain(60), 3, { offsetBlocks: 30 })).toEqual({
      unsafe: 100,
      safe: 70,
      finalized: 70,
    })
    const rewound = l2Chain(20, { latest: 5, safe: 9, finalized: 2 })
    expect(await numbers(rewound, l1Chain(12), 100, { offsetBlocks: 30 })).toEqual({ unsafe: 5, safe: 0, finalized: 0 })
  })

  it('jumps to safe if the check between is skipped', async () => {
    const l2 = l2Chain(400, { safe: 10, finalized: 2 })
    const read = new Set<number>()
    const engine = {
      ...l2,
      blockRefByNumber: async (number: number) => {
        read.add(number)
        return l2.blockRefByNumber(number)
      },
    }
    expect(await numbers(engine, l1Chain(210), 2, { skipCheck: true })).toEqual({ unsafe: 400, safe: 9, finalized: 2 })
    expect(read.has(200)).toBe(false)
  })

  it('refuses an engine with another genesis', async () => {
    const l2 = { ...l2Chain(4), blockRefByHash: async () => undefined }
    await expect(numbers(l2, l1Chain(3), 10)).rejects.toMatchObject({ code: 'l2-chain', severity: 'critical' })
  })

  it('names an L1 with another genesis block, and does not end the node', async () => {
    const failure = numbers(l2Chain(4), l1Chain(6, 0), 10)
    await expect(failure).rejects.toMatchObject({ severity: undefined })
    await expect(failure).rejects.toThrow(errorWith('l1-chain', 'block 0', hash('fork', 0)))
  })

  it('names the block that contradicts the finalized block, and does not end the node', async () => {
    const l2 = l2Chain(20, { safe: 12, finalized: 10 })
    const other = { ...l2.at(10), hash: hash('other', 10) }
    const engine = {
      ...l2,
      blockRefByLabel: async (label: L2BlockLabel) => (label === 'finalized' ? other : l2.blockRefByLabel(label)),
    }
    const failure = numbers(engine, l1Chain(12), 100)
    await expect(failure).rejects.toMatchObject({ severity: undefined })
    await expect(failure).rejects.toThrow(errorWith('finalized-reorg', 10, l2.at(10).hash))
  })

  it('names the block of an L1 reorg deeper than five windows; a higher limit accepts the reorg', async () => {
    const l2 = l2Chain(60, { safe: 2, finalized: 2 })
    const failure = numbers(l2, l1Chain(40, 4), 5)
    await expect(failure).rejects.toMatchObject({ severity: undefined })
    await expect(failure).rejects.toThrow(
      errorWith('reorg-too-deep', 'block 9', l2.at(9).hash, '--rollup.max-reorg-windows'),
    )
    expect(await numbers(l2, l1Chain(40, 4), 5, { maxReorgWindows: 6 })).toEqual({ unsafe: 7, safe: 2, finalized: 2 })
  })

  it.each([
    ['an origin that skips an L1 block', { l1Origin: { hash: hash('one', 4), number: 4 }, sequenceNumber: 0 }],
    ['a first sequence number above zero', { sequenceNumber: 1 }],
    ['a sequence number that does not follow', { number: 7, sequenceNumber: 5 }],
  ])('drops a block with %s and all blocks above it', async (_what, wrong) => {
    const l2 = l2Chain(12, { safe: 2, finalized: 2 })
    const number = 'number' in wrong ? wrong.number : 6
    const broken = { ...l2.at(number), ...wrong }
    const swap = (block: L2BlockRef | undefined) => (block?.number === number ? broken : block)
    const engine = {
      ...l2,
      blockRefByHash: async (wanted: Hex) => swap(await l2.blockRefByHash(wanted)),
      blockRefByNumber: async (at: number) => swap(await l2.blockRefByNumber(at)),
    }
    const lines: string[] = []
    const logger = createLogger({ level: 'warn', format: 'json', color: false, write: (line) => lines.push(line) })
    expect(await numbers(engine, l1Chain(12), 100, { logger })).toEqual({
      unsafe: number - 1,
      safe: 2,
      finalized: 2,
    })
    expect(lines.filter((line) => line.includes(broken.hash))).toHaveLength(1)
  })

  it('continues from the same block after failures of L1 or the engine', async () => {
    const l1 = l1Chain(30)
    const l2 = l2Chain(60, { safe: 2, finalized: 2 })
    const isAway = { l1: false, l2: false }
    let readsOfTip = 0
    const flaky = {
      blockInfoByNumber: async (number: number) => {
        if (number === 30) readsOfTip++
        if (isAway.l1 && number < 20) throw new Error('connect ECONNREFUSED')
        return l1.blockInfoByNumber(number)
      },
      blockInfoByHash: async (wanted: Hex) => {
        if (isAway.l1) throw new Error('connect ECONNREFUSED')
        return l1.blockInfoByHash(wanted)
      },
    }
    const engine = {
      ...l2,
      blockRefByHash: async (wanted: Hex) => {
        if (isAway.l2) throw new Error('connect ECONNREFUSED')
        return l2.blockRefByHash(wanted)
      },
      blockRefByNumber: async (number: number) => {
        if (isAway.l2) throw new Error('connect ECONNREFUSED')
        return l2.blockRefByNumber(number)
      },
    }
    const lines: string[] = []
    const logger = createLogger({ level: 'warn', format: 'json', color: false, write: (line) => lines.push(line) })
    isAway.l1 = true
    const result = numbers(engine, flaky, 100, { logger })
    await loopTurns(200)
    await clock.advance(100_000)
    isAway.l1 = false
    isAway.l2 = true
    await clock.advance(10_500)
    await loopTurns(200)
    await clock.advance(100_000)
    isAway.l2 = false
    await clock.advance(10_500)
    expect(await result).toEqual({ unsafe: 60, safe: 2, finalized: 2 })
    expect(readsOfTip).toBe(1)
    expect(lines.length).toBeLessThanOrEqual(2)
  })

  it('stops with its signal during any request', async () => {
    const l1 = l1Chain(30)
    const never = new Promise<never>(() => undefined)
    for (const blockInfoByHash of [() => never, () => Promise.reject(new Error('connect ECONNREFUSED'))]) {
      const abort = new AbortController()
      const blockInfoByNumber = async (number: number) => {
        if (number < 25) throw new Error('connect ECONNREFUSED')
        return l1.blockInfoByNumber(number)
      }
      const result = numbers(l2Chain(60, { safe: 2, finalized: 2 }), { blockInfoByNumber, blockInfoByHash }, 100, {
        signal: abort.signal,
      })
      await loopTurns(100)
      abort.abort(new Error('Ctrl-C'))
      await expect(result).rejects.toThrow('Ctrl-C')
    }
  })

  it('prefetches blocks up to a limit', async () => {
    const l2 = l2Chain(300, { safe: 2, finalized: 2 })
    const l1 = l1Chain(150)
    let pending = 0
    let most = 0
    const counted = async <T>(read: Promise<T>): Promise<T> => {
      most = Math.max(most, ++pending)
      await loopTurns(1)
      pending--
      return read
    }
    const engine = { ...l2, blockRefByNumber: (number: number) => counted(l2.blockRefByNumber(number)) }
    const result = await numbers(engine, l1, 1000)
    expect(result).toEqual({ unsafe: 300, safe: 2, finalized: 2 })
    expect(most).toBe(32)
  })
})
