import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { ZERO_HASH } from '../protocol/types.ts'
import { findStartHeads } from './findStartHeads.ts'
import type { L2BlockLabel } from './types.ts'

const BLOCKS_PER_ORIGIN = 2

function hash(kind: string, number: number): Hex {
  return `0x${Buffer.from(`${kind}${number}`).toString('hex').padStart(64, '0')}`
}

/** L1 from 0 to `head`; from `forkAt` on its blocks are others than those that L2 was built on. */
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

/** L2 blocks 0 to `head`, two to an origin, all built on chain "one". */
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

async function numbers(
  l2: ReturnType<typeof l2Chain>,
  l1: ReturnType<typeof l1Chain>,
  seqWindowSize: number,
): Promise<{ unsafe: number; safe: number; finalized: number }> {
  const { unsafe, safe, finalized } = await findStartHeads(
    { engine: l2, l1, logger: silentLogger },
    config(seqWindowSize),
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
      // Origin 20 is the highest; 14 is the first below its window, and block 27 the last before that epoch.
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

  it('refuses an engine with another genesis', async () => {
    const l2 = { ...l2Chain(4), blockRefByHash: async () => undefined }
    await expect(numbers(l2, l1Chain(3), 10)).rejects.toMatchObject({ code: 'l2-chain', severity: 'critical' })
  })

  it('refuses an L1 that has another block where the rollup starts', async () => {
    await expect(numbers(l2Chain(4), l1Chain(6, 0), 10)).rejects.toMatchObject({
      code: 'l2-chain',
      severity: 'critical',
    })
  })

  it('refuses to go back below finalized', async () => {
    const l2 = l2Chain(20, { safe: 12, finalized: 10 })
    const other = { ...l2.at(10), hash: hash('other', 10) }
    const engine = {
      ...l2,
      blockRefByLabel: async (label: L2BlockLabel) => (label === 'finalized' ? other : l2.blockRefByLabel(label)),
    }
    await expect(numbers(engine, l1Chain(12), 100)).rejects.toMatchObject({
      code: 'finalized-reorg',
      severity: 'critical',
    })
  })

  it('refuses an L1 reorg deeper than five windows', async () => {
    await expect(numbers(l2Chain(60, { safe: 2, finalized: 2 }), l1Chain(40, 4), 5)).rejects.toMatchObject({
      code: 'reorg-too-deep',
      severity: 'critical',
    })
  })

  it('notices a chain whose origins skip an L1 block', async () => {
    const l2 = l2Chain(8)
    const broken = { ...l2.at(4), l1Origin: { hash: hash('one', 9), number: 9 } }
    const engine = {
      ...l2,
      blockRefByHash: async (wanted: Hex) => (wanted === broken.hash ? broken : l2.blockRefByHash(wanted)),
    }
    await expect(numbers(engine, l1Chain(12), 100)).rejects.toMatchObject({ code: 'l2-chain' })
  })

  it('is tried again when L1 fails', async () => {
    const l1 = { ...l1Chain(5), blockInfoByNumber: () => Promise.reject(new Error('timeout')) }
    await expect(numbers(l2Chain(3), l1, 10)).rejects.toThrow('timeout')
  })
})
