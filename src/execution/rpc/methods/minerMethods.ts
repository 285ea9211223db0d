import type { DaSizeLimits } from '../../chain/building.ts'
import type { MethodTable, RpcModules } from '../context.ts'
import { method, quantity } from '../params.ts'

/** miner_ namespace. op-batcher limits the chain's data with it while L1 is congested. */
export function createMinerMethods({ pool, logger }: Pick<RpcModules, 'pool' | 'logger'>): MethodTable {
  return {
    miner_setMaxDASize: method([quantity, quantity], ([transactionBytes, blockBytes]) => {
      const limits: DaSizeLimits = {}
      if (transactionBytes > 0n) limits.transactionBytes = Number(transactionBytes)
      if (blockBytes > 0n) limits.blockBytes = Number(blockBytes)
      pool.setMaxDaSize(limits)
      logger.debug('Set the data availability limits', { transactionBytes, blockBytes })
      return true
    }),
    // As in op-reth: it limits what a block takes from the pool, while the header keeps the rollup node's gas limit.
    miner_setGasLimit: method([quantity], ([gasLimit]) => {
      pool.setEffectiveGasLimit(gasLimit)
      logger.info('Set the gas limit of built blocks', { gasLimit })
      return true
    }),
  }
}
