import { type Hex, toHex, toQuantity } from '../../../src/lib/hex.ts'
import { DEV_ACCOUNT_BALANCE_WEI, devAccounts, roles } from '../../accounts.ts'
import type { ChainParameters } from '../../chainParameters.ts'
import { BLOCK_FORKS } from '../chainConfig.ts'

/** Time-based forks before Amsterdam. The L1 has all of them at genesis. */
const TIME_FORKS = ['shanghai', 'cancun', 'prague', 'osaka', 'bpo1', 'bpo2']

/** Ethereum's schedule: EIP-4844, EIP-7691, EIP-7892. Osaka keeps Prague's parameters, and Amsterdam keeps the last entry's. */
const BLOB_SCHEDULE = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671 },
}

/** Enough for the whole deployment in one block. */
export const GETH_GAS_LIMIT = 100_000_000
const BASE_FEE_WEI = 1_000_000_000

/** The chain config of a go-ethereum L1, for its genesis file and for `--rollup.l1-chain-config`. */
export function gethChainConfig({ l1ChainId, l1 }: Pick<ChainParameters, 'l1ChainId' | 'l1'>): Record<string, unknown> {
  return {
    chainId: l1ChainId,
    ...Object.fromEntries(BLOCK_FORKS.map((fork) => [`${fork}Block`, 0])),
    terminalTotalDifficulty: 0,
    ...Object.fromEntries(TIME_FORKS.map((fork) => [`${fork}Time`, 0])),
    ...(l1?.amsterdamTime === undefined ? {} : { amsterdamTime: l1.amsterdamTime }),
    blobSchedule: BLOB_SCHEDULE,
  }
}

/** Code by address, for accounts that are not funded. */
export type GenesisCode = Iterable<readonly [address: Hex, code: string]>

/** The genesis file of a go-ethereum L1. */
export function gethGenesis(
  chain: Pick<ChainParameters, 'l1ChainId' | 'l1BlockTime' | 'genesisTime' | 'l1'>,
  codes: GenesisCode,
): Record<string, unknown> {
  const balance = toQuantity(DEV_ACCOUNT_BALANCE_WEI)
  const funded = [...devAccounts, ...Object.values(roles)].map(({ address }) => [address, { balance }] as const)
  // A contract has nonce 1. With nonce 0 its address could be created again.
  const contracts = Array.from(codes, ([address, code]) => [address, { balance: '0x0', nonce: '0x1', code }] as const)
  return {
    config: gethChainConfig(chain),
    nonce: '0x0',
    timestamp: toQuantity(l1GenesisTime(chain)),
    extraData: '0x',
    gasLimit: toQuantity(GETH_GAS_LIMIT),
    baseFeePerGas: toQuantity(BASE_FEE_WEI),
    difficulty: '0x0',
    mixHash: toHex(new Uint8Array(32)),
    coinbase: toHex(new Uint8Array(20)),
    alloc: Object.fromEntries([...funded, ...contracts]),
  }
}

/** Time of block 0, which is slot 0. Block 1 comes one slot later, at the rollup's genesis time. */
export function l1GenesisTime({
  genesisTime,
  l1BlockTime,
}: Pick<ChainParameters, 'genesisTime' | 'l1BlockTime'>): number {
  return genesisTime - l1BlockTime
}
