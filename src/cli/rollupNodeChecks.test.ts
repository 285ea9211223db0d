import { describe, expect, it } from 'vitest'
import { silentLogger } from '../lib/logger.ts'
import { fakeGenesis } from '../rollup/engine/testUtils/fakeEngine.ts'
import type { RollupConfig } from '../rollup/protocol/index.ts'
import { checkEngine, checkL1 } from './rollupNodeChecks.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const GENESIS = fakeGenesis(1, 1n)
const CONFIG = {
  l1ChainId: 900n,
  l2ChainId: 901n,
  genesis: { l1: { hash: HASH, number: 3 }, l2: { hash: GENESIS.payload.blockHash, number: 0 } },
} as RollupConfig

describe('checkL1', () => {
  const l1 = (chainId: bigint, hash: `0x${string}` | undefined) => ({
    chainId: async () => chainId,
    blockInfoByNumber: async (number: number) =>
      hash === undefined ? undefined : { hash, number, parentHash: HASH, timestamp: 1 },
  })

  it('accepts the right L1, and one that has not come so far', async () => {
    await checkL1(l1(900n, HASH), CONFIG, silentLogger)
    await checkL1(l1(900n, undefined), CONFIG, silentLogger)
  })

  it('refuses another chain and another block', async () => {
    await expect(checkL1(l1(1n, HASH), CONFIG, silentLogger)).rejects.toThrow(
      'incorrect L1 RPC chain id 1, expected 900',
    )
    const other = `0x${'cd'.repeat(32)}` as const
    await expect(checkL1(l1(900n, other), CONFIG, silentLogger)).rejects.toThrow(
      `incorrect L1 genesis block hash ${other}, expected ${HASH}`,
    )
  })
})

describe('checkEngine', () => {
  it('refuses another chain and another genesis', async () => {
    const engine = { chainId: async () => 901n, payloadByNumber: async () => GENESIS }
    await checkEngine(engine, CONFIG)
    await expect(checkEngine({ ...engine, chainId: async () => 5n }, CONFIG)).rejects.toThrow(
      'incorrect L2 RPC chain id 5, expected 901',
    )
    const other = fakeGenesis(2, 1n)
    await expect(checkEngine({ ...engine, payloadByNumber: async () => other }, CONFIG)).rejects.toThrow(
      `incorrect L2 genesis block hash ${other.payload.blockHash}, expected ${GENESIS.payload.blockHash}`,
    )
    await expect(checkEngine({ ...engine, payloadByNumber: async () => undefined }, CONFIG)).rejects.toThrow(
      'does not have block 0',
    )
  })
})
