import type { EndpointState } from '../../jsonRpc/endpointWatch.ts'
import type { AwaitedBlobs, L1HeadProblem } from '../../l1/index.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { DerivationRecord } from './derivationRecorder.ts'
import type { ForkOutlook } from './forkOutlook.ts'
import type { BatcherReport } from './health/batcherWatch.ts'
import type { UnsafeGap } from './unsafeChain.ts'

/** In the order of the checks. The first state that applies is reported. */
export const DERIVATION_STATES = [
  /** Finding the heads, at the start. */
  'starting',
  /** Finding the heads again. */
  'resetting',
  'l1-down',
  /** L1 answers, but its head is unreadable. */
  'l1-unreadable',
  'waiting-for-blobs',
  'engine-down',
  'engine-syncing',
  /** The next block belongs to a fork that this version does not know. */
  'fork-unknown',
  'upgrade-bundle-missing',
  /** A step fails repeatedly for another reason. */
  'failing',
  /** Nothing is derived: the safe head comes from another node. */
  'following',
  /** L1 has more data to read. */
  'catching-up',
  /** The sequencing window has ended without batches, so derivation creates empty blocks. */
  'window-expired',
  /** The last data of the batcher were dropped. */
  'batches-dropped',
  /** Empty blocks follow if no batch arrives soon. */
  'window-expiring',
  /** The batch submitter reports that it is stopped. */
  'batcher-stopped',
  /** A channel has arrived in part. */
  'waiting-for-channel',
  /** No batch has arrived for a long time. */
  'no-batches',
  /** All available data are read. The batcher posts at intervals. */
  'waiting-for-batches',
  /** All known blocks are safe. */
  'up-to-date',
] as const

export type DerivationState = (typeof DERIVATION_STATES)[number]

/** The inputs of the state. Times are Unix milliseconds. */
export interface DerivationFacts {
  nowMs: number
  /** Undefined until L1 has reported it. */
  l1Head: L1BlockRef | undefined
  l1HeadAtMs: number | undefined
  /** The error of the last polls of L1's head. */
  l1HeadProblem: L1HeadProblem | undefined
  /** The pipeline's L1 block; undefined during a reset. */
  currentL1: L1BlockRef | undefined
  /** Number of confirmations before an L1 block is read. */
  confirmations: number
  safe: L2BlockRef | undefined
  safeMovedAtMs: number | undefined
  unsafe: L2BlockRef | undefined
  /** The missing blocks below the gossiped blocks. */
  unsafeGap?: UnsafeGap | undefined
  l1Endpoint: EndpointState | undefined
  engineEndpoint: EndpointState | undefined
  /** Whether the engine syncs over its own network before derivation begins. */
  engineIsSyncing: boolean
  blobs: AwaitedBlobs | undefined
  /** The last report of the batch submitter, if the node knows one. */
  batcher?: BatcherReport | undefined
  /** The address of the followed node, in follow mode. */
  follows: string | undefined
  record: DerivationRecord
  forks: ForkOutlook
  config: Pick<RollupConfig, 'seqWindowSize' | 'blockTime' | 'forks' | 'unknownForks' | 'lagoonBundle'>
}
