import type { RollupConfig } from '../types.ts'

/** A rollup config for tests with these forks: chain 901, genesis at 1,700,000,000, block time 2 s. */
export function testConfig(forks: RollupConfig['forks'] = {}, overrides: Partial<RollupConfig> = {}): RollupConfig {
  return {
    genesis: {
      l1: { hash: `0x${'a1'.repeat(32)}`, number: 900 },
      l2: { hash: `0x${'a2'.repeat(32)}`, number: 0 },
      l2Time: 1_700_000_000,
      systemConfig: {
        batcherAddress: `0x${'22'.repeat(20)}`,
        overhead: `0x${'bc'.padStart(64, '0')}`,
        scalar: `0x${'0a6f'.padStart(64, '0')}`,
        gasLimit: 30_000_000n,
      },
    },
    blockTime: 2,
    maxSequencerDrift: 600,
    seqWindowSize: 3600,
    channelTimeout: 300,
    l1ChainId: 900n,
    l2ChainId: 901n,
    forks,
    batchInboxAddress: `0x${'b1'.repeat(20)}`,
    depositContractAddress: `0x${'b2'.repeat(20)}`,
    l1SystemConfigAddress: `0x${'b3'.repeat(20)}`,
    ...overrides,
  }
}
