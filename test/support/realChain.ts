import type { Hex } from '../../src/lib/hex.ts'
import { type BlockId, parseRollupConfig, type RollupConfig } from '../../src/rollup/protocol/index.ts'
import { roles } from '../../testnet/accounts.ts'
import { ArtifactStore, findContractsPackage } from '../../testnet/contracts/artifact.ts'
import { type ForkTimes, forksAtGenesis, type TestnetFork } from '../../testnet/forks.ts'
import { buildL2Genesis, type L2Genesis } from '../../testnet/genesis/l2Genesis.ts'
import { buildRollupConfig } from '../../testnet/genesis/rollupConfig.ts'
import { type L1Addresses, l1Addresses } from '../../testnet/l1/contracts.ts'

export interface RealChain {
  genesis: L2Genesis['file']
  l1: L1Addresses
  config(l1Genesis: BlockId): RollupConfig
}

/** A chain with the real predeploys. It has this fork at genesis and activates later forks by time. */
export async function makeRealChain(
  fork: TestnetFork,
  options: { genesisTime: number; later?: ForkTimes; seqWindowSize?: number },
): Promise<RealChain> {
  const { genesisTime, later = {}, seqWindowSize = 100 } = options
  const parameters = {
    l1ChainId: 900,
    l2ChainId: 901,
    blockTime: 1,
    l1BlockTime: 2,
    genesisTime,
    forks: { ...forksAtGenesis(fork), ...later },
  }
  const l1 = l1Addresses(roles.owner.address)
  const { file, hash } = await buildL2Genesis(new ArtifactStore(findContractsPackage()), parameters, l1)
  return {
    genesis: file,
    l1,
    config: (l1Genesis) => ({
      ...parseRollupConfig(buildRollupConfig(parameters, l1, l1Genesis, hash as Hex)),
      seqWindowSize,
    }),
  }
}
