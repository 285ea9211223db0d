import { L1_HARDFORK } from './anvil.ts'

/** Block forks that are active from block 0. */
export const BLOCK_FORKS = [
  'homestead',
  'eip150',
  'eip155',
  'eip158',
  'byzantium',
  'constantinople',
  'petersburg',
  'istanbul',
  'berlin',
  'london',
]

/** EIP-4844: the fork's entry in `blobSchedule` of geth's chain config. */
const BLOB_PARAMETERS = { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 }

/** Anvil's chain config in geth's form, as `--rollup.l1-chain-config` takes it. */
export function l1ChainConfig(chainId: number): Record<string, unknown> {
  return {
    chainId,
    ...Object.fromEntries(BLOCK_FORKS.map((fork) => [`${fork}Block`, 0])),
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    [`${L1_HARDFORK}Time`]: 0,
    blobSchedule: { [L1_HARDFORK]: BLOB_PARAMETERS },
  }
}
