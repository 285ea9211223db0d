import { writeFile } from 'node:fs/promises'
import type { Hex } from '../../src/lib/hex.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import type { BlockId } from '../../src/rollup/protocol/index.ts'
import { roles } from '../accounts.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { ArtifactStore, findContractsPackage } from '../contracts/artifact.ts'
import { buildL2Genesis } from '../genesis/l2Genesis.ts'
import { readPreinstalls } from '../genesis/preinstalls.ts'
import { buildRollupConfig } from '../genesis/rollupConfig.ts'
import { l1Addresses, planDeployment } from '../l1/contracts.ts'
import { MULTICALL3_ADDRESS, type SignedStep, signDeployment } from '../l1/deploy.ts'
import type { TestnetLayout } from './layout.ts'

/**
 * Makes a new chain: contracts on L1, genesis.json, rollup.json. The L2 genesis needs only the L1 addresses and the time, which
 * are known before the deployment. Both parts therefore run in parallel, and rollup.json joins them.
 */
export class ChainMaker {
  private readonly store = new ArtifactStore(findContractsPackage())
  private readonly layout: TestnetLayout
  private readonly parameters: ChainParameters

  constructor(layout: TestnetLayout, parameters: ChainParameters) {
    this.layout = layout
    this.parameters = parameters
  }

  /** Writes genesis.json and returns the hash of its block. */
  async writeGenesis(): Promise<Hex> {
    makeDirectory(this.layout.joinDir)
    const { file, hash } = await buildL2Genesis(this.store, this.parameters, l1Addresses(roles.owner.address))
    await writeFile(this.layout.genesis, JSON.stringify(file))
    return hash
  }

  /** Signed transactions that deploy the contracts on L1. Their block is the rollup's L1 genesis. */
  async l1Steps(): Promise<SignedStep[]> {
    const { parameters, store } = this
    return signDeployment(await planDeployment(store, parameters), parameters.l1ChainId)
  }

  /** Code of Multicall3, which L1 gets without a transaction. */
  async multicall3Code(): Promise<Uint8Array> {
    const preinstalls = await readPreinstalls(this.store, this.parameters.l2ChainId)
    const multicall3 = preinstalls.find(({ address }) => address === MULTICALL3_ADDRESS)
    if (multicall3 === undefined) throw new RangeError('the preinstalls have no Multicall3')
    return multicall3.code
  }

  async writeRollupConfig(l1Genesis: BlockId, l2GenesisHash: Hex): Promise<void> {
    const config = buildRollupConfig(this.parameters, l1Addresses(roles.owner.address), l1Genesis, l2GenesisHash)
    await writeFile(this.layout.rollupConfig, `${JSON.stringify(config, null, 2)}\n`)
  }
}
