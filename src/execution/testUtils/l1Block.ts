import { type L1BlockInfo, type RollupConfig, ZERO_HASH } from '../../rollup/protocol/types.ts'

/** An invented L1 block for deposits: the genesis, unless a number is given. */
export function madeUpL1Block({ genesis }: RollupConfig, timestamp: number, number = genesis.l1.number): L1BlockInfo {
  return {
    hash: genesis.l1.hash,
    number,
    parentHash: ZERO_HASH,
    timestamp,
    mixHash: ZERO_HASH,
    baseFeePerGas: 1_000_000_000n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: ZERO_HASH,
  }
}
