import type { BatcherBlock } from './l2Block.ts'
import type { BatcherSyncStatus } from './syncStatus.ts'

/** What the decision needs to know of a channel. */
export interface ChannelProgress {
  latestL2: { number: number } | undefined
  isFullySubmitted: boolean
  isTimedOut: boolean
  lastInclusionBlock: number
}

export interface BlockRange {
  start: number
  /** Inclusive. */
  end: number
}

/** What one look at the sync status leads to. */
export type SyncActions =
  /** The node's view is not usable now: nothing is done. */
  | { kind: 'outOfSync'; reason: string }
  /** All state is dropped; loading begins after the safe head. */
  | { kind: 'startAfresh'; reason: string; load: BlockRange | undefined }
  /** What is safe is dropped, and newer blocks are loaded. */
  | { kind: 'continue'; load: BlockRange | undefined }

/**
 * Compares what is held with where the rollup node stands. Pure, so that each case can be tested.
 *
 * @param previous where the node stood when it was last believed
 * @param doubted what it said at the last look, when that was not believed
 */
export function computeSyncActions(
  status: BatcherSyncStatus,
  previous: BatcherSyncStatus | undefined,
  doubted: BatcherSyncStatus | undefined,
  blocks: readonly Pick<BatcherBlock, 'number' | 'hash'>[],
  channels: readonly ChannelProgress[],
): SyncActions {
  if (previous !== undefined) {
    const { currentL1 } = status
    if (currentL1.number < previous.currentL1.number)
      return { kind: 'outOfSync', reason: 'sequencer currentL1 reversed' }
    // A node that was started again may stand at the same L1 block and still be deriving from it.
    const isSettled = currentL1.hash === doubted?.currentL1.hash && status.safeL2.hash === doubted.safeL2.hash
    if (status.safeL2.number < previous.safeL2.number && currentL1.number === previous.currentL1.number && !isSettled)
      return { kind: 'outOfSync', reason: 'the safe head went back, but not the L1' }
  }

  const safe = status.safeL2
  const afresh = (reason: string): SyncActions => ({
    kind: 'startAfresh',
    reason,
    load: range(safe.number + 1, status.unsafeL2.number),
  })
  const oldest = blocks[0]
  const newest = blocks.at(-1)
  if (oldest === undefined || newest === undefined) {
    return { kind: 'continue', load: range(safe.number + 1, status.unsafeL2.number) }
  }
  if (safe.number + 1 < oldest.number) return afresh('next safe block is below oldest block in state')
  const safeBlocks = safe.number + 1 - oldest.number
  if (safeBlocks > blocks.length) return afresh('safe head above newest block in state')
  const heldSafe = safeBlocks > 0 ? blocks[safeBlocks - 1] : undefined
  if (heldSafe !== undefined && heldSafe.hash !== safe.hash)
    return afresh('safe chain reorg: the safe block is not the one in state')
  const unsafeIndex = status.unsafeL2.number - oldest.number
  const heldUnsafe = unsafeIndex >= 0 ? blocks[unsafeIndex] : undefined
  if (heldUnsafe !== undefined && heldUnsafe.hash !== status.unsafeL2.hash)
    return afresh('unsafe chain reorg: the unsafe head is not the block in state')
  for (const channel of channels) {
    // The node stands at a later L1 block than the channel's last frame, so it must have derived all of the channel.
    if (
      channel.isFullySubmitted &&
      !channel.isTimedOut &&
      channel.lastInclusionBlock < status.currentL1.number &&
      channel.latestL2 !== undefined &&
      safe.number < channel.latestL2.number
    ) {
      return afresh('sequencer did not make expected progress')
    }
  }
  return { kind: 'continue', load: range(newest.number + 1, status.unsafeL2.number) }
}

function range(start: number, end: number): BlockRange | undefined {
  return start <= end ? { start, end } : undefined
}
