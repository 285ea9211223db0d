import type { RpcClient } from '../../jsonRpc/client.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { DaSizeLimits } from '../chain/building.ts'
import type { Chain } from '../chain/opChain.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import type { SdmOptIn } from '../sdmOptIn.ts'
import type { SenderContent } from '../txPool/index.ts'

/** The part of the transaction pool that wallets use. */
export interface RpcPool {
  add(transaction: SignedTransaction): Promise<void>
  get(hash: Hex): SignedTransaction | undefined
  nextNonce(sender: Hex): number | undefined
  status(): { pending: number; queued: number }
  content(sender: Hex): SenderContent
  senderAddresses(): Hex[]
  onAdded(listener: (transaction: SignedTransaction) => void): () => void
  setMaxDaSize(limits: DaSizeLimits): void
}

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
