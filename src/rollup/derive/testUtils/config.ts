import type { Hex } from '../../../lib/hex.ts'
import type { Fork, L1BlockRef, L2BlockRef, RollupConfig } from '../../protocol/types.ts'
import { FORKS } from '../../protocol/types.ts'

export const BATCHER: Hex = `0x${'ba'.repeat(20)}`
export const INBOX: Hex = `0x${'ff'.repeat(20)}`
export const DEPOSIT_CONTRACT: Hex = `0x${'de'.repeat(20)}`
export const SYSTEM_CONFIG_CONTRACT: Hex = `0x${'5c'.repeat(20)}`
export const GENESIS_TIME = 1_700_000_000
export const L1_BLOCK_TIME = 6
export const BLOCK_TIME = 2

/** A chain on which all forks up to `upTo` are active at genesis. `forks` adds or moves single forks. */
export function testConfig(upTo: Fork | 'bedrock', overrides: Partial<RollupConfig> = {}): RollupConfig {
  const active = upTo === 'bedrock' ? [] : FORKS.slice(0, FORKS.indexOf(upTo) + 1)
  return {
    genesis: {
      l1: { hash: fakeHash('l1', 0), number: 0 },
      l2: { hash: fakeHash('l2', 0), number: 0 },
      l2Time: GENESIS_TIME,
      systemConfig: {
        batcherAddress: BATCHER,
        overhead: `0x${'0'.repeat(64)}`,
        scalar: `0x01${'0'.repeat(46)}0000000100000558`,
        gasLimit: 30_000_000n,
      },
    },
    blockTime: BLOCK_TIME,
    maxSequencerDrift: 20,
    seqWindowSize: 10,
    channelTimeout: 5,
    l1ChainId: 900n,
    l2ChainId: 901n,
    forks: Object.fromEntries(active.map((fork) => [fork, 0])),
    batchInboxAddress: INBOX,
    depositContractAddress: DEPOSIT_CONTRACT,
    l1SystemConfigAddress: SYSTEM_CONFIG_CONTRACT,
    ...overrides,
  }
}

/** A recognizable 32-byte hash for a block of a named chain. */
export function fakeHash(chain: string, number: number): Hex {
  const name = Buffer.from(chain).toString('hex').padEnd(24, '0').slice(0, 24)
  return `0x${name}${Math.max(0, number).toString(16).padStart(16, '0')}${name}`
}

export function l1Ref(number: number, fork = 'l1'): L1BlockRef {
  return {
    hash: fakeHash(fork, number),
    number,
    parentHash: fakeHash(fork, number - 1),
    timestamp: GENESIS_TIME + number * L1_BLOCK_TIME,
  }
}

/** L2 block `number` with L1 origin `origin`. */
export function l2Ref(number: number, origin: number, sequenceNumber = 0): L2BlockRef {
  return {
    hash: fakeHash('l2', number),
    number,
    parentHash: fakeHash('l2', number - 1),
    timestamp: GENESIS_TIME + number * BLOCK_TIME,
    l1Origin: { hash: fakeHash('l1', origin), number: origin },
    sequenceNumber,
  }
}
