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
  }
}
