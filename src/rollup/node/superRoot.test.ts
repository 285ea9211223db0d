import { concatHex, keccak256, numberToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { fakeGenesis } from '../engine/testUtils/fakeEngine.ts'
import { testEngineConfig } from '../engine/testUtils/testChain.ts'
import { type L2BlockRef, type SyncStatus, ZERO_HASH, ZERO_L1_REF, ZERO_L2_REF } from '../protocol/types.ts'
import { readSuperRoot } from './superRoot.ts'

/** Genesis at 1000, one block in two seconds. */
const CONFIG = { ...testEngineConfig(fakeGenesis(1000, 1n)), blockTime: 2 }
const word = (digit: string): Hex => `0x${digit.repeat(64)}`
const block = (number: number): L2BlockRef => ({
  ...ZERO_L2_REF,
  hash: number === 0 ? CONFIG.genesis.l2.hash : word(`${number}`),
  number,
  timestamp: 1000 + 2 * number,
})
const STATUS: SyncStatus = {
  currentL1: { ...ZERO_L1_REF, hash: word('a'), number: 40 },
  headL1: ZERO_L1_REF,
  safeL1: ZERO_L1_REF,
  finalizedL1: ZERO_L1_REF,
  unsafeL2: block(8),
  safeL2: block(5),
  localSafeL2: block(6),
  finalizedL2: block(2),
  pendingSafeL2: block(5),
  queuedUnsafeL2: ZERO_L2_REF,
  engineSyncTarget: block(8),
}

const read = (timestamp: number) =>
  readSuperRoot(
    {
      syncStatus: () => STATUS,
      outputAtBlock: async (number) => ({
        version: ZERO_HASH,
        outputRoot: word('b'),
        blockRef: block(number),
        withdrawalStorageRoot: word('d'),
        stateRoot: word('e'),
      }),
      madeSafeBy: async (number) => ({ hash: word('c'), number: 30 + number }),
    },
    CONFIG,
    timestamp,
  )

describe('readSuperRoot', () => {
  it('hashes version, timestamp, chain id and output root, and names the L1 block that made the block safe', async () => {
    const { chain, ...root } = await read(1009)
    expect(root).toEqual({
      currentL1: { hash: word('a'), number: 40 },
      safeTimestamp: 1010,
      localSafeTimestamp: 1012,
      finalizedTimestamp: 1004,
      chainId: 2n,
    })
    expect(chain?.output.blockRef.number).toBe(4)
    expect(chain?.requiredL1).toEqual({ hash: word('c'), number: 34 })
    const encoded = concatHex(['0x01', numberToHex(1009, { size: 8 }), numberToHex(2, { size: 32 }), word('b')])
    expect(chain?.superRoot).toBe(keccak256(encoded))
  })

  it('treats genesis as safe from the first L1 block', async () => {
    expect((await read(1001)).chain?.requiredL1).toEqual({ hash: ZERO_HASH, number: 0 })
  })

  it('omits the chain above the local safe head and before genesis', async () => {
    expect((await read(1012)).chain).toBeDefined()
    expect((await read(1014)).chain).toBeUndefined()
    expect((await read(1000)).chain).toBeDefined()
    expect((await read(999)).chain).toBeUndefined()
  })
})
