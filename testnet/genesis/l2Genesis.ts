import { type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import { encodeExtraData, SEQUENCER_FEE_VAULT_ADDRESS, ZERO_HASH } from '../../src/rollup/protocol/index.ts'
import { DEV_ACCOUNT_BALANCE_WEI, devAccounts } from '../accounts.ts'
import { type ChainParameters, L2_GAS_LIMIT } from '../chainParameters.ts'
import type { ArtifactStore } from '../contracts/artifact.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import { type GenesisFile, genesisBlockHash } from './genesisBlock.ts'
import { predeployAlloc } from './predeploys.ts'
import { BEACON_ROOTS_SENDER, readPreinstalls } from './preinstalls.ts'

/** Base fee rule of OP Mainnet: denominator 250 since Canyon, 50 before; elasticity 6. */
export const EIP1559 = { elasticity: 6, denominator: 50, denominatorCanyon: 250 } as const
/** 1 gwei, as EIP-1559 chains begin. */
const INITIAL_BASE_FEE = 1_000_000_000n

export interface L2Genesis {
  file: GenesisFile
  /** Of the block that `init` makes of the file. */
  hash: Hex
}

/** L2 genesis with every fork up to Holocene active: predeploys, preinstalls and funded development accounts. */
export async function buildL2Genesis(
  store: ArtifactStore,
  parameters: ChainParameters,
  l1: L1Addresses,
): Promise<L2Genesis> {
  const [alloc, preinstalls] = await Promise.all([
    predeployAlloc(store, parameters, l1),
    readPreinstalls(store, parameters.l2ChainId),
  ])
  for (const { address, code } of preinstalls) alloc[address] = { balance: '0x0', nonce: '0x1', code: toHex(code) }
  alloc[BEACON_ROOTS_SENDER] = { balance: '0x0', nonce: '0x1' }
  for (const { address } of devAccounts) alloc[address] = { balance: toQuantity(DEV_ACCOUNT_BALANCE_WEI) }

  const file: GenesisFile = {
    config: chainConfig(parameters.l2ChainId),
    nonce: '0x0',
    timestamp: toQuantity(parameters.genesisTime),
    extraData: encodeExtraData({ denominator: EIP1559.denominatorCanyon, elasticity: EIP1559.elasticity }),
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
    alloc,
  }
  return { file, hash: genesisBlockHash(file) }
}

/** geth's names; on an OP chain the merge is decided by bedrockBlock, so the rest of Ethereum's forks are simply on. */
function chainConfig(chainId: number): Record<string, unknown> {
  const ethereum = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul']
  const late = ['muirGlacier', 'berlin', 'london', 'arrowGlacier', 'grayGlacier', 'mergeNetsplit', 'bedrock']
  const timed = ['shanghai', 'cancun', 'regolith', 'canyon', 'ecotone', 'fjord', 'granite', 'holocene']
  return {
    chainId,
    ...Object.fromEntries([...ethereum, ...late].map((fork) => [`${fork}Block`, 0])),
    ...Object.fromEntries(timed.map((fork) => [`${fork}Time`, 0])),
    terminalTotalDifficulty: 0,
    optimism: {
      eip1559Elasticity: EIP1559.elasticity,
      eip1559Denominator: EIP1559.denominator,
      eip1559DenominatorCanyon: EIP1559.denominatorCanyon,
    },
  }
}
