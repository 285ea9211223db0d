import type { RpcClient } from '../../jsonRpc/client.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Chain } from '../chain/opChain.ts'
import type { SdmOptIn } from '../sdmOptIn.ts'
import type { TxPool } from '../txPool/txPool.ts'

/** The part of the transaction pool that wallets use. */
export type RpcPool = Pick<
  TxPool,
  | 'add'
  | 'get'
  | 'nextNonce'
  | 'status'
  | 'content'
  | 'senderAddresses'
  | 'onAdded'
  | 'setMaxDaSize'
  | 'setEffectiveGasLimit'
>

export interface RpcModules {
  chain: Chain
  pool: RpcPool
  logger: Logger
  clock: Clock
  sdm: SdmOptIn
  /** The sequencer's execution client (`--rollup.sequencerhttp`). Transactions sent here are forwarded to it. */
  sequencer?: Pick<RpcClient, 'request'> | undefined
}

export type MethodTable = Record<string, RpcHandler>
