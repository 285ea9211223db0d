import type { BatcherBlock } from './l2Block.ts'
import type { BatcherSyncStatus } from './syncStatus.ts'

/** The state of a channel that `computeSyncActions` needs. */
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

/** The result of comparing the held blocks with one sync status. */
export type SyncActions =
  /** The status is inconsistent with the previous one: change nothing. */
  | { kind: 'outOfSync'; reason: string }
  /** Drop all state. Loading restarts when the rollup node has derived our last L1 transaction. */
  | { kind: 'startAfresh'; reason: string }
  /** Drop safe blocks and load newer ones. */
  | { kind: 'continue'; load: BlockRange | undefined }

/**
 * Compares the held blocks and channels with the node's sync status. A pure function, so that each case can be tested.
 *
 * @param previous the last accepted status
 * @param doubted the last status, if it was rejected as out of sync
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
    // A restarted node may report the same L1 block while it still derives from it. Two equal answers in a row show
    // that it has finished.
    const isRepeated = currentL1.hash === doubted?.currentL1.hash && status.safeL2.hash === doubted.safeL2.hash
    if (status.safeL2.number < previous.safeL2.number && currentL1.number === previous.currentL1.number && !isRepeated)
      return { kind: 'outOfSync', reason: 'the safe head went back at the same L1 block' }
  }

  const safe = status.safeL2
  const afresh = (reason: string): SyncActions => ({ kind: 'startAfresh', reason })
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
    // The node is past the L1 block of the channel's last frame, so it must have derived the whole channel.
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
