import { describe, expect, it } from 'vitest'
import { createLogRecorder } from '../../batcher/testUtils/logRecorder.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { fakeGenesis } from '../../rollup/engine/testUtils/fakeEngine.ts'
import type { RollupConfig } from '../../rollup/protocol/index.ts'
import { type CheckedEngine, checkEngine, checkL1 } from './rollupNodeChecks.ts'

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

  it('accepts the right L1, and an L1 that has not reached the genesis block', async () => {
    await checkL1(l1(900n, HASH), CONFIG, silentLogger)
    await checkL1(l1(900n, undefined), CONFIG, silentLogger)
  })

  it('accepts an L1 that has pruned the genesis block', async () => {
    const failing = (error: Error) => ({ ...l1(900n, HASH), blockInfoByNumber: () => Promise.reject(error) })
    await checkL1(failing(new JsonRpcError(4444, 'history unavailable')), CONFIG, silentLogger)
    const other = checkL1(failing(new JsonRpcError(-32000, 'not ready')), CONFIG, silentLogger)
    await expect(other).rejects.toThrow('not ready')
  })

  it('refuses another chain and another block', async () => {
    await expect(checkL1(l1(1n, HASH), CONFIG, silentLogger)).rejects.toThrow(errorWith('usage', 'L1', 1, 900))
    const other = `0x${'cd'.repeat(32)}` as const
    await expect(checkL1(l1(900n, other), CONFIG, silentLogger)).rejects.toThrow(errorWith('usage', 'L1', other, HASH))
  })
})

describe('checkEngine', () => {
  const head = (number: number) => async () => ({ number })
  const engine = { chainId: async () => 901n, payloadByNumber: async () => GENESIS, blockRefByLabel: head(0) }
  const check = (changed: Partial<CheckedEngine>) => checkEngine({ ...engine, ...changed }, CONFIG, silentLogger)

  it('refuses another chain and another genesis', async () => {
    await check({})
    await expect(check({ chainId: async () => 5n })).rejects.toThrow(errorWith('usage', 'L2', 5, 901))
    const other = fakeGenesis(2, 1n)
    await expect(check({ payloadByNumber: async () => other })).rejects.toThrow(
      errorWith('usage', 'L2', other.payload.blockHash, GENESIS.payload.blockHash),
    )
    await expect(check({ payloadByNumber: async () => undefined })).rejects.toThrow(errorWith('usage', 'block 0'))
  })

  it('accepts an engine without the genesis block if it syncs first', async () => {
    const empty = { ...engine, payloadByNumber: async () => undefined }
    await checkEngine(empty, CONFIG, silentLogger, { syncsFirst: true })
  })

  it.each([
    ['4444', async () => Promise.reject(new JsonRpcError(4444, 'requested 0, earliest available 900'))],
    ['a text', async () => Promise.reject(new JsonRpcError(-32000, 'pruned history unavailable'))],
    ['null', async () => undefined],
  ])('accepts an engine that has pruned its genesis block and answers %s', async (_id, payloadByNumber) => {
    const log = createLogRecorder()
    const pruned = { ...engine, payloadByNumber, blockRefByLabel: head(1_000) }
    await checkEngine(pruned, CONFIG, log.logger)
    expect(log.lines).toMatchObject([{ lvl: 'warn', number: 0, hash: GENESIS.payload.blockHash }])
  })

  it('passes other engine errors on', async () => {
    const failing = { payloadByNumber: async () => Promise.reject(new JsonRpcError(-32000, 'not ready')) }
    await expect(check(failing)).rejects.toThrow('not ready')
  })
})
