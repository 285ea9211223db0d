import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import type { L2BlockRef, RollupConfig } from '../protocol/types.ts'
import { findResetPoint } from './resetPoint.ts'
import { fakeHash, GENESIS_TIME, L1_BLOCK_TIME, l1Ref, l2Ref, testConfig } from './testUtils/config.ts'

// Three L2 blocks in each epoch: block n has L1 origin n / 3.
function at(number: number): L2BlockRef {
  return l2Ref(number, Math.floor(number / 3), number % 3)
}

/** Chains with the given genesis. `reorged` and `missing` are the numbers of a missing L1 and a missing L2 block. */
function setUp(genesis = { l1: 0, l2: 0 }, { reorged = -1, missing = -1, config = {} as Partial<RollupConfig> } = {}) {
  const base = testConfig('bedrock', { channelTimeout: 5, ...config })
  const l1Reads: number[] = []
  const numberOf = (hash: Hex, chain: string) => {
    for (let number = 0; number < 1000; number++) if (fakeHash(chain, number) === hash) return number
    throw new Error(`unknown hash ${hash}`)
  }
  const modules = {
    l1: {
      async blockInfoByHash(hash: Hex) {
        const number = numberOf(hash, 'l1')
        l1Reads.push(number)
        return number === reorged ? undefined : { ...l1Ref(number), mixHash: hash, baseFeePerGas: 1n }
      },
    },
    l2: {
      async blockRefByHash(hash: Hex) {
        const number = numberOf(hash, 'l2')
        return number === missing ? undefined : at(number)
      },
      async systemConfigByL2Hash(hash: Hex) {
        return { ...base.genesis.systemConfig, gasLimit: BigInt(numberOf(hash, 'l2')) }
      },
    },
  }
  const l1 = { number: genesis.l1, hash: fakeHash('l1', genesis.l1) }
  const l2 = { number: genesis.l2, hash: fakeHash('l2', genesis.l2) }
  return { modules, l1Reads, config: { ...base, genesis: { ...base.genesis, l1, l2 } } }
}

describe('reset point', () => {
  it.each([
    { id: 'at genesis', safe: 0, origin: 0, block: 0 },
    { id: 'genesis within the timeout', safe: 14, origin: 0, block: 2 },
    { id: 'a timeout back, at the last block of that epoch', safe: 30, origin: 5, block: 17 },
    { id: 'from the middle of an epoch', safe: 32, origin: 5, block: 17 },
    { id: 'genesis of L1 is later', genesis: { l1: 8, l2: 0 }, safe: 30, origin: 8, block: 26 },
    { id: 'genesis of L2 is later', genesis: { l1: 0, l2: 28 }, safe: 30, origin: 9, block: 28 },
  ])('$id: L1 block $origin', async ({ safe, genesis, origin, block }) => {
    const { modules, config } = setUp(genesis)
    const point = await findResetPoint(modules, { config, safeHead: at(safe) })
    expect(point.origin).toEqual(l1Ref(origin))
    expect(point.systemConfig.gasLimit).toBe(BigInt(block))
  })

  it('uses the channel timeout at the time of the current block', async () => {
    // Granite, with a timeout of 50, begins at L1 block 98. The walk leaves it after two epochs.
    const granite = GENESIS_TIME + 98 * L1_BLOCK_TIME
    const { modules, config } = setUp(undefined, { config: { forks: { fjord: 0, granite }, channelTimeout: 10 } })
    const point = await findResetPoint(modules, { config, safeHead: at(300) })
    expect(point.origin.number).toBe(90)
    const later = await findResetPoint(modules, { config, safeHead: at(600) })
    expect(later.origin.number).toBe(150)
  })

  it('reads each L1 block once', async () => {
    const { modules, config, l1Reads } = setUp()
    await findResetPoint(modules, { config, safeHead: at(30) })
    expect(l1Reads).toEqual([10, 9, 8, 7, 6, 5])
  })

  it('requires a reset when an L1 origin is missing', async () => {
    const { modules, config } = setUp(undefined, { reorged: 7 })
    const search = findResetPoint(modules, { config, safeHead: at(30) })
    await expect(search).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset' })
  })

  it('retries when the engine does not have a parent', async () => {
    const { modules, config } = setUp(undefined, { missing: 20 })
    const search = findResetPoint(modules, { config, safeHead: at(30) })
    await expect(search).rejects.toMatchObject({ severity: 'temporary' })
    await expect(search).rejects.toThrow(errorWith('l2-block-missing', 20))
  })
})
