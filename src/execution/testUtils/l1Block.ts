import { type L1BlockInfo, type RollupConfig, ZERO_HASH } from '../../rollup/protocol/types.ts'

/** An L1 block made up for deposits to tell of: the genesis', unless another number is given. */
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
