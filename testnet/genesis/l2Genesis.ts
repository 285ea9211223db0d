import { type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import {
  encodeExtraData,
  FORKS,
  isForkActive,
  SEQUENCER_FEE_VAULT_ADDRESS,
  upgradeDepositsOf,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '../../src/rollup/protocol/index.ts'
import { DEV_ACCOUNT_BALANCE_WEI, devAccounts } from '../accounts.ts'
import { type ChainParameters, L2_GAS_LIMIT } from '../chainParameters.ts'
import type { ArtifactStore } from '../contracts/artifact.ts'
import type { ForkTimes } from '../forks.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import type { GenesisAlloc, GenesisFile } from './genesisFile.ts'
import { predeployAlloc } from './predeploys.ts'
import { BEACON_ROOTS_SENDER, readPreinstalls } from './preinstalls.ts'

/** OP Mainnet's base fee parameters: denominator 250 since Canyon, 50 before, and elasticity 6. */
export const EIP1559 = { elasticity: 6, denominator: 50, denominatorCanyon: 250 } as const
/** 1 gwei, the initial base fee of EIP-1559. */
const INITIAL_BASE_FEE = 1_000_000_000n

export interface L2Genesis {
  file: GenesisFile
  /** Hash of the block that `init` writes from the file. */
  hash: Hex
}

/** Forks that install code over the predeploys of the contracts package, which supports Ecotone and Fjord. */
const UPGRADES = ['isthmus', 'jovian', 'karst'] as const
/** The Ethereum fork that each OP Stack fork includes, by geth's names. */
const ETHEREUM_FORKS: ForkNames = { canyon: 'shanghai', ecotone: 'cancun', isthmus: 'prague' }
type ForkNames = Partial<Record<keyof ForkTimes, string>>

/**
 * L2 genesis: predeploys, preinstalls and funded development accounts, after the upgrades of every fork that is active at
 * genesis.
 */
export async function buildL2Genesis(
  store: ArtifactStore,
  parameters: ChainParameters,
  l1: L1Addresses,
): Promise<L2Genesis> {
  const { forks, genesisTime } = parameters
  const isActive = (fork: keyof ForkTimes) => isForkActive({ forks }, fork, genesisTime)
  const [alloc, preinstalls] = await Promise.all([
    predeployAlloc(store, parameters, l1),
    readPreinstalls(store, parameters.l2ChainId),
  ])
  for (const { address, code } of preinstalls) alloc[address] = { balance: '0x0', nonce: '0x1', code: toHex(code) }
  alloc[BEACON_ROOTS_SENDER] = { balance: '0x0', nonce: '0x1' }
  // Wallets estimate a deposit's gas as a call with value from the zero address (viem's buildDepositTransaction).
  for (const address of [...devAccounts.map(({ address }) => address), ZERO_ADDRESS]) {
    alloc[address] = { balance: toQuantity(DEV_ACCOUNT_BALANCE_WEI) }
  }

  const config = chainConfig(parameters)
  const fees = { denominator: EIP1559.denominatorCanyon, elasticity: EIP1559.elasticity }
  const file: GenesisFile = {
    config,
    nonce: '0x0',
    timestamp: toQuantity(genesisTime),
    extraData: isActive('holocene') ? encodeExtraData(isActive('jovian') ? { ...fees, minBaseFee: 0n } : fees) : '0x',
    gasLimit: toQuantity(L2_GAS_LIMIT),
    difficulty: '0x0',
    mixHash: ZERO_HASH,
    coinbase: SEQUENCER_FEE_VAULT_ADDRESS,
    number: '0x0',
    gasUsed: '0x0',
    parentHash: ZERO_HASH,
    baseFeePerGas: toQuantity(INITIAL_BASE_FEE),
    excessBlobGas: '0x0',
    blobGasUsed: '0x0',
    alloc: await upgraded(alloc, config, parameters),
  }
  // Imported on demand, because the execution client's modules are slow to load.
  const { readGenesis } = await import('../../src/execution/config/genesis.ts')
  return { file, hash: readGenesis(file).header.hash }
}

async function upgraded(
  alloc: GenesisAlloc,
  chainConfig: Record<string, unknown>,
  { forks, genesisTime }: ChainParameters,
): Promise<GenesisAlloc> {
  const deposits = UPGRADES.filter((fork) => isForkActive({ forks }, fork, genesisTime)).flatMap(upgradeDepositsOf)
  if (deposits.length === 0) return alloc
  const { upgradedAlloc } = await import('./upgradedAlloc.ts')
  return upgradedAlloc(alloc, deposits, { chainConfig, timestamp: genesisTime })
}

/**
 * The chain config by geth's names. On an OP chain bedrockBlock decides the merge, so Ethereum's other forks are active from
 * block 0.
 */
export function chainConfig({
  l2ChainId,
  forks,
}: Pick<ChainParameters, 'l2ChainId' | 'forks'>): Record<string, unknown> {
  const ethereum = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul']
  const late = ['muirGlacier', 'berlin', 'london', 'arrowGlacier', 'grayGlacier', 'mergeNetsplit', 'bedrock']
  const timed = FORKS.flatMap((fork): [string, number][] => {
    const time = forks[fork]
    if (time === undefined) return []
    const names = [fork, ETHEREUM_FORKS[fork]].filter((name) => name !== undefined)
    return names.map((name) => [`${name}Time`, time])
  })
  return {
    chainId: l2ChainId,
    ...Object.fromEntries([...ethereum, ...late].map((fork) => [`${fork}Block`, 0])),
    ...Object.fromEntries(timed),
    terminalTotalDifficulty: 0,
    optimism: {
      eip1559Elasticity: EIP1559.elasticity,
      eip1559Denominator: EIP1559.denominator,
      eip1559DenominatorCanyon: EIP1559.denominatorCanyon,
    },
  }
}
