import type { Hex } from '../lib/hex.ts'
import type { InFlightTx } from './txmgr/sendLoop.ts'

/** Whether something that the submitter asks answers. */
export interface Reachability {
  /** Undefined: not asked yet. */
  lastAnswerMs: number | undefined
  /** Why the last request failed; undefined when it did not. */
  error: string | undefined
}

/** Where the submitter stands, for people. Times are milliseconds since 1970, money is gwei. */
export interface BatcherStatus {
  running: boolean
  stopping: boolean
  from: Hex
  /** What has to be over before anything is loaded. */
  waitsFor: string | undefined
  safe: number | undefined
  unsafe: number | undefined
  lastLoaded: { number: number; hash: Hex } | undefined
  /** Blocks in no channel. */
  pendingBlocks: number
  heldBytes: number
  unsafeDaBytes: number
  openChannel:
    | {
        id: Hex
        firstBlock: number
        lastBlock: number
        inputBytes: number
        /** The L1 block at which it closes, and why; undefined: when it is full. */
        closesAt: { l1Block: number; reason: string } | undefined
      }
    | undefined
  /** Closed and not yet confirmed as a whole. */
  channelsToConfirm: number
  l1Head: number | undefined
  l1: Reachability
  rollupNode: Reachability
  inFlight: InFlightTx[]
  lastHour: { transactions: number; bytes: number; costGwei: number }
  throttling: boolean
}

/** In one sentence why nothing lands, or that all is well. */
export function explainStatus(status: BatcherStatus, nowMs: number): string {
  if (!status.running) return 'the batcher is stopped; admin_startBatcher starts it'
  if (status.rollupNode.error !== undefined) return `the rollup node cannot be used: ${status.rollupNode.error}`
  if (status.l1.error !== undefined) return `the L1 cannot be used: ${status.l1.error}`
  if (status.waitsFor !== undefined) return `nothing is loaded yet: ${status.waitsFor}`
  const oldest = status.inFlight[0]
  if (oldest !== undefined) {
    const age = Math.max(0, Math.round((nowMs - oldest.startedAtMs) / 1000))
    const place =
      oldest.minedIn === undefined
        ? `is in no block after ${age} s and ${oldest.bumps} fee bumps (fee cap ${Number(oldest.feeCapWei) / 1e9} gwei)`
        : `is in L1 block ${oldest.minedIn} and waits for confirmations (the L1 is at ${status.l1Head ?? '?'})`
    return `transaction ${oldest.hash} (nonce ${oldest.nonce}) ${place}`
  }
  const { openChannel: open } = status
  if (open !== undefined) {
    const when =
      open.closesAt === undefined
        ? 'when it is full'
        : `when it is full, or at L1 block ${open.closesAt.l1Block} (${open.closesAt.reason}; the L1 is at ${status.l1Head ?? '?'})`
    return `blocks ${open.firstBlock} to ${open.lastBlock} are in an open channel, which closes ${when}`
  }
  if (status.pendingBlocks > 0) return `${status.pendingBlocks} blocks wait for a channel`
  if (status.channelsToConfirm > 0) return `${status.channelsToConfirm} channels wait to be sent`
  return 'all blocks that the rollup node has are on L1'
}

const HOUR_MS = 3_600_000

/** What the transactions of the last hour cost. */
export class CostWindow {
  private entries: { atMs: number; bytes: number; feeWei: bigint }[] = []

  add(atMs: number, bytes: number, feeWei: bigint): void {
    this.entries.push({ atMs, bytes, feeWei })
    this.forget(atMs)
  }

  sum(nowMs: number): BatcherStatus['lastHour'] {
    this.forget(nowMs)
    const costWei = this.entries.reduce((sum, { feeWei }) => sum + feeWei, 0n)
    return {
      transactions: this.entries.length,
      bytes: this.entries.reduce((sum, { bytes }) => sum + bytes, 0),
      costGwei: Number(costWei) / 1e9,
    }
  }

  private forget(nowMs: number): void {
    this.entries = this.entries.filter(({ atMs }) => nowMs - atMs < HOUR_MS)
  }
}
