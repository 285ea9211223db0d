import type { EndpointState } from '../../jsonRpc/endpointWatch.ts'
import type { AwaitedBlobs, L1HeadProblem } from '../../l1/index.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig } from '../protocol/types.ts'
import type { DerivationRecord } from './derivationRecorder.ts'
import type { ForkOutlook } from './forkOutlook.ts'
import type { BatcherNews } from './health/batcherWatch.ts'
import type { UnsafeGap } from './unsafeChain.ts'

/** In the order in which they are looked for: the first that holds is the state. */
export const DERIVATION_STATES = [
  /** Heads are being looked for, at the start. */
  'starting',
  /** Heads are being looked for again. */
  'resetting',
  'l1-down',
  /** L1 answers, and its head cannot be read. */
  'l1-unreadable',
  'waiting-for-blobs',
  'engine-down',
  'engine-syncing',
  /** The next block is under the rules of a fork that this version does not know. */
  'fork-unknown',
  'upgrade-bundle-missing',
  /** A step fails again and again for another reason. */
  'failing',
  /** Nothing is derived: the safe head is another node's. */
  'following',
  /** L1 holds more to read. */
  'catching-up',
  /** Batches ran out long ago: empty blocks are derived in their place. */
  'window-expired',
  /** What the batcher posted last was dropped. */
  'batches-dropped',
  /** Empty blocks come if no batch does soon. */
  'window-expiring',
  /** The batch submitter says that it is stopped. */
  'batcher-stopped',
  /** A channel is there in part. */
  'waiting-for-channel',
  /** No batch for long. */
  'no-batches',
  /** Read is what there is; the batcher posts now and then. */
  'waiting-for-batches',
  /** Every block that is known is safe. */
  'up-to-date',
] as const

export type DerivationState = (typeof DERIVATION_STATES)[number]

/** What a state is judged from. Moments are Unix milliseconds. */
export interface DerivationFacts {
  nowMs: number
  /** Undefined until L1 told of it. */
  l1Head: L1BlockRef | undefined
  l1HeadAtMs: number | undefined
  /** The error with which the last looks at L1's head failed. */
  l1HeadProblem: L1HeadProblem | undefined
  /** Where derivation reads; undefined while there is a reset. */
  currentL1: L1BlockRef | undefined
  /** L1 blocks that must stand on top of one that is read. */
  confirmations: number
  safe: L2BlockRef | undefined
  safeMovedAtMs: number | undefined
  unsafe: L2BlockRef | undefined
  /** Blocks that are missing below those that gossip brought. */
  unsafeGap?: UnsafeGap | undefined
  l1Endpoint: EndpointState | undefined
  engineEndpoint: EndpointState | undefined
  /** Whether the engine gets the chain by a sync of its own, before derivation begins. */
  engineIsSyncing: boolean
  blobs: AwaitedBlobs | undefined
  /** What the batch submitter last said, where the node knows one. */
  batcher?: BatcherNews | undefined
  /** In follow mode the address of the node that is followed. */
  follows: string | undefined
  record: DerivationRecord
  forks: ForkOutlook
  config: Pick<RollupConfig, 'seqWindowSize' | 'blockTime' | 'forks' | 'unknownForks' | 'lagoonBundle'>
}
