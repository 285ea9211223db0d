import {
  type BlockId,
  encodeScalar,
  type RollupConfig,
  rollupConfigToJson,
  ZERO_HASH,
} from '../../src/rollup/protocol/index.ts'
import { roles } from '../accounts.ts'
import {
  BASE_FEE_SCALAR,
  BLOB_BASE_FEE_SCALAR,
  batchInboxAddress,
  type ChainParameters,
  L2_GAS_LIMIT,
} from '../chainParameters.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import { EIP1559 } from './l2Genesis.ts'

/** The content of rollup.json. */
export function buildRollupConfig(
  { l1ChainId, l2ChainId, blockTime, genesisTime, forks }: ChainParameters,
  l1: L1Addresses,
  l1Genesis: BlockId,
  l2GenesisHash: BlockId['hash'],
): Record<string, unknown> {
  const config: RollupConfig = {
    genesis: {
      l1: l1Genesis,
      l2: { hash: l2GenesisHash, number: 0 },
      l2Time: genesisTime,
      systemConfig: {
        batcherAddress: roles.batcher.address,
        overhead: ZERO_HASH,
        scalar: encodeScalar({ baseFeeScalar: BASE_FEE_SCALAR, blobBaseFeeScalar: BLOB_BASE_FEE_SCALAR }),
        gasLimit: BigInt(L2_GAS_LIMIT),
        // Zero because this SystemConfig has no setting for it. The chain config's values apply.
        eip1559Params: '0x0000000000000000',
      },
    },
    blockTime,
    // OP Mainnet's values. From Granite on the channel timeout is 50, and from Fjord on the drift is 1800.
    maxSequencerDrift: 600,
    seqWindowSize: 3600,
    channelTimeout: 300,
    l1ChainId: BigInt(l1ChainId),
    l2ChainId: BigInt(l2ChainId),
    forks,
    batchInboxAddress: batchInboxAddress(l2ChainId),
    depositContractAddress: l1.OptimismPortal,
    l1SystemConfigAddress: l1.SystemConfig,
    protocolVersionsAddress: l1.ProtocolVersions,
    chainOpConfig: {
      eip1559Elasticity: EIP1559.elasticity,
      eip1559Denominator: EIP1559.denominator,
      eip1559DenominatorCanyon: EIP1559.denominatorCanyon,
    },
  }
  return rollupConfigToJson(config)
}
