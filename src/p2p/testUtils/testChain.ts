import type { Hex } from '../../lib/hex.ts'
import { privateKeyToAddress } from '../../lib/secp256k1.ts'
import { payloadBlockHash, payloadVersionAt } from '../../rollup/protocol/index.ts'
import { testConfig as baseConfig } from '../../rollup/protocol/testUtils/config.ts'
import {
  FORKS,
  type Fork,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '../../rollup/protocol/types.ts'
import type { P2pChain } from '../base/options.ts'
import { blocksTopic } from '../base/topics.ts'

export const SEQUENCER_KEY = new Uint8Array(32).fill(0x46)
export const SEQUENCER_ADDRESS: Hex = privateKeyToAddress(SEQUENCER_KEY)
export const CHAIN_ID = 901n
/** The topic of blocks at the forks of `testConfig()`. */
export const TOPIC = blocksTopic(CHAIN_ID, 3)

/** A chain whose forks up to the given one are active from genesis. */
export function testConfig(lastFork: Fork = 'holocene', overrides: Partial<RollupConfig> = {}): RollupConfig {
  const forks = Object.fromEntries(FORKS.slice(0, FORKS.indexOf(lastFork) + 1).map((fork) => [fork, 0]))
  return baseConfig(forks, {
    genesis: {
      l1: { hash: ZERO_HASH, number: 0 },
      l2: { hash: ZERO_HASH, number: 0 },
      l2Time: Math.floor(Date.now() / 1000) - 1000,
      systemConfig: { batcherAddress: ZERO_ADDRESS, overhead: ZERO_HASH, scalar: ZERO_HASH, gasLimit: 30_000_000n },
    },
    blockTime: 1,
    ...overrides,
  })
}

/** A block with a correct hash and arbitrary content. */
export function testBlock(
  config: RollupConfig,
  changes: Partial<PayloadEnvelope['payload']> & { parentBeaconBlockRoot?: Hex } = {},
): PayloadEnvelope {
  const { parentBeaconBlockRoot = `0x${'09'.repeat(32)}`, ...payloadChanges } = changes
  const timestamp = changes.timestamp ?? Math.floor(Date.now() / 1000)
  const version = payloadVersionAt(config, timestamp)
  const envelope: PayloadEnvelope = {
    ...(version >= 3 ? { parentBeaconBlockRoot } : {}),
    payload: {
      parentHash: `0x${'01'.repeat(32)}`,
      feeRecipient: '0x4200000000000000000000000000000000000011',
      stateRoot: `0x${'02'.repeat(32)}`,
      receiptsRoot: `0x${'03'.repeat(32)}`,
      logsBloom: `0x${'00'.repeat(256)}`,
      prevRandao: `0x${'06'.repeat(32)}`,
      blockNumber: 1,
      gasLimit: 30_000_000n,
      gasUsed: 123_456n,
      extraData: '0x',
      baseFeePerGas: 1_000_000_007n,
      blockHash: ZERO_HASH,
      transactions: [Uint8Array.of(0x7e, 1, 2), new Uint8Array(600).fill(2)],
      ...(version >= 2 ? { withdrawals: [] } : {}),
      ...(version >= 3 ? { blobGasUsed: 0n, excessBlobGas: 0n } : {}),
      ...(version >= 4 ? { withdrawalsRoot: `0x${'0a'.repeat(32)}` as const } : {}),
      ...payloadChanges,
      timestamp,
    },
  }
  envelope.payload.blockHash = changes.blockHash ?? payloadBlockHash(envelope)
  return envelope
}

/** Blocks `from` to `to`, each the parent of the next, one a second until now. */
export function testBlocks(config: RollupConfig, from: number, to: number): PayloadEnvelope[] {
  const blocks: PayloadEnvelope[] = []
  let parentHash: Hex = ZERO_HASH
  for (let blockNumber = from; blockNumber <= to; blockNumber++) {
    const timestamp = config.genesis.l2Time + blockNumber * config.blockTime
    const block = testBlock(config, { blockNumber, parentHash, timestamp })
    blocks.push(block)
    parentHash = block.payload.blockHash
  }
  return blocks
}

export function testChain(config: RollupConfig, changes: Partial<P2pChain> = {}): P2pChain {
  return {
    config,
    signerAddress: () => SEQUENCER_ADDRESS,
    payloadByNumber: async () => undefined,
    ...changes,
  }
}
