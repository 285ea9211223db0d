import {
  encodeDepositTx,
  l1InfoDepositTx,
  payloadToL2BlockRef,
  SEQUENCER_FEE_VAULT_ADDRESS,
} from '../../protocol/index.ts'
import {
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_HASH,
} from '../../protocol/types.ts'

/** The only L1 block of these tests. */
export const TEST_L1 = { hash: `0x${'a1'.repeat(32)}`, number: 0, parentHash: ZERO_HASH, timestamp: 1000 } as const

/** Granite: a span becomes safe as a whole, and an invalid block drops its batch. Holocene activates at 5000. */
export function testEngineConfig(genesis: PayloadEnvelope): RollupConfig {
  return {
    genesis: {
      l1: TEST_L1,
      l2: { hash: genesis.payload.blockHash, number: 0 },
      l2Time: 1000,
      systemConfig: {
        batcherAddress: `0x${'ba'.repeat(20)}`,
        overhead: ZERO_HASH,
        scalar: `0x01${'00'.repeat(31)}`,
        gasLimit: 30_000_000n,
      },
    },
    blockTime: 1,
    maxSequencerDrift: 600,
    seqWindowSize: 10,
    channelTimeout: 10,
    l1ChainId: 1n,
    l2ChainId: 2n,
    forks: { regolith: 0, canyon: 0, delta: 0, ecotone: 0, fjord: 0, granite: 0, holocene: 5000 },
    batchInboxAddress: `0x${'00'.repeat(20)}`,
    depositContractAddress: `0x${'00'.repeat(20)}`,
    l1SystemConfigAddress: `0x${'00'.repeat(20)}`,
  }
}

export function refOf(config: RollupConfig, envelope: PayloadEnvelope): L2BlockRef {
  return payloadToL2BlockRef(envelope.payload, config)
}

/** Attributes of a block on `parent` with the same origin: L1 info, then these transactions. */
export function attributesOn(config: RollupConfig, parent: L2BlockRef, extra: Uint8Array[] = []): PayloadAttributes {
  const info = { ...TEST_L1, mixHash: ZERO_HASH, baseFeePerGas: 1n, excessBlobGas: 0n }
  const timestamp = parent.timestamp + 1
  const deposit = l1InfoDepositTx(config, config.genesis.systemConfig, parent.sequenceNumber + 1, info, timestamp)
  return {
    timestamp,
    prevRandao: ZERO_HASH,
    suggestedFeeRecipient: SEQUENCER_FEE_VAULT_ADDRESS,
    transactions: [encodeDepositTx(deposit), ...extra],
    noTxPool: true,
    gasLimit: 30_000_000n,
    withdrawals: [],
    parentBeaconBlockRoot: ZERO_HASH,
  }
}
