import type { RpcClient } from '../../jsonRpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1Heads } from '../l1/l1Heads.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import type { L2Source } from '../l2/l2Source.ts'
import type { ThrottlerModules } from '../throttle/throttler.ts'
import type { TxManager } from '../txmgr/txManager.ts'
import type { BatcherMetrics } from './metrics.ts'
import type { BatchSender } from './publisher.ts'

export interface BatchSubmitterModules {
  rollup: Pick<RpcClient, 'request'>
  l1: SubmitterL1
  l2: L2Source
  /** L2 execution clients that are throttled when data waits for L1. */
  builders: ThrottlerModules['builders']
  heads: L1Heads
  sender: BatchSender & Pick<TxManager, 'from' | 'close' | 'tunables' | 'sending' | 'cancelling' | 'problem'>
  clock: Clock
  logger: Logger
  metrics: BatcherMetrics
  /** Called with an error that a retry cannot fix. The program must stop. */
  onFatal: (error: unknown) => void
}
