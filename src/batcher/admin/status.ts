import type { Hex } from '../../lib/hex.ts'
import { countOf, gweiText, sinceText } from '../../lib/phrases.ts'
import type { Reachability } from '../l1/l1Heads.ts'
import type { CancelStatus } from '../txmgr/poolCleaner.ts'
import type { InFlightTx } from '../txmgr/types.ts'

/** The submitter's state, for operators. Times are in milliseconds since 1970, costs in gwei. */
export interface BatcherStatus {
  running: boolean
  stopping: boolean
  from: Hex
  /** The condition for loading blocks, as a sentence. Undefined if blocks may be loaded. */
  waitsFor: string | undefined
  /** Why blocks cannot be loaded, as a sentence. Undefined if the last attempt succeeded. */
  loadError: string | undefined
  safe: number | undefined
  unsafe: number | undefined
  lastLoaded: { number: number; hash: Hex } | undefined
  /** The oldest held block that is not confirmed on L1. */
  firstUnsaved: number | undefined
  /** Blocks in no channel. */
  pendingBlocks: number
  /** Memory of the held blocks. */
  heldBytes: number
  unsafeDaBytes: number
  openChannel:
    | {
        id: Hex
        firstBlock: number
        lastBlock: number
        inputBytes: number
        /** The L1 block at which the channel closes, and the reason. Undefined: only when it is full. */
        closesAt: { l1Block: number; reason: string } | undefined
      }
    | undefined
  /** Closed channels that are not fully confirmed. */
  channelsToConfirm: number
  l1Head: number | undefined
  l1: Reachability
  rollupNode: Reachability
  inFlight: InFlightTx[]
  /** Our transactions in the L1's pool that are being replaced by empty ones. */
  cancelling: CancelStatus | undefined
  /** Why the next transaction cannot be created. */
  craftProblem: string | undefined
  /** Why the last transaction was abandoned. Undefined once a transaction is confirmed. */
  sendError: string | undefined
  lastHour: { transactions: number; bytes: number; costGwei: number }
  throttling: boolean
}

/** Explains in one sentence why no data reaches L1, or that all data is there. */
export function explainStatus(status: BatcherStatus, nowMs: number): string {
  const { running, stopping, firstUnsaved } = status
  if (running) return `${stopping ? 'stopping: ' : ''}${explainRun(status, nowMs)}`
  const lacking = firstUnsaved === undefined ? '' : `. L2 blocks from ${firstUnsaved} on are not on L1`
  return `the batcher is stopped${lacking}. To start it, call admin_startBatcher`
}

function explainRun(status: BatcherStatus, nowMs: number): string {
  if (status.rollupNode.error !== undefined) return `the rollup node is unusable: ${status.rollupNode.error}`
  if (status.rollupNode.lastAnswerMs === undefined) return 'the rollup node has not answered yet'
  if (status.l1.error !== undefined) return `the L1 is unusable: ${status.l1.error}`
  if (status.cancelling !== undefined) return explainCancels(status.cancelling, nowMs)
  if (status.loadError !== undefined) return status.loadError
  if (status.waitsFor !== undefined) return `waiting before loading blocks: ${status.waitsFor}`
  const [oldest] = status.inFlight
  if (oldest !== undefined) return explainTx(oldest, status, nowMs)
  if (status.craftProblem !== undefined) return `the next transaction cannot be created: ${status.craftProblem}`
  if (status.channelsToConfirm > 0) {
    const why = status.sendError === undefined ? '' : `. The last transaction was abandoned: ${status.sendError}`
    return `${countOf(status.channelsToConfirm, 'channel')} waiting to be sent${why}`
  }
  const { openChannel: open } = status
  if (open !== undefined) {
    const when =
      open.closesAt === undefined
        ? 'when it is full'
        : `when it is full, or at L1 block ${open.closesAt.l1Block} (${open.closesAt.reason}; the L1 is at block ${status.l1Head ?? '?'})`
    return `the open channel holds blocks ${open.firstBlock} to ${open.lastBlock}. It closes ${when}`
  }
  if (status.pendingBlocks > 0) return `${countOf(status.pendingBlocks, 'block')} waiting for a channel`
  const { safe = 0, unsafe = 0, lastLoaded } = status
  const missing = unsafe - Math.max(safe, lastLoaded?.number ?? 0)
  if (missing > 0) return `${countOf(missing, 'block')} not loaded yet`
  const behind = unsafe - safe
  const derived = behind > 0 ? `. The rollup node has not derived the last ${countOf(behind, 'block')} yet` : ''
  return `all blocks of the rollup node are on L1${derived}`
}

/** False if an operator must act. A transaction that waits for its block is no problem. */
export function isHealthy(status: BatcherStatus): boolean {
  const { running, rollupNode, l1, loadError, craftProblem, sendError, inFlight } = status
  const problems = [rollupNode.error, l1.error, loadError, craftProblem, sendError, ...inFlight.map((tx) => tx.problem)]
  return running && problems.every((problem) => problem === undefined)
}

function explainCancels({ nonces, startedAtMs, problem }: CancelStatus, nowMs: number): string {
  const [first] = nonces
  const which =
    first === undefined
      ? 'pending transactions'
      : `${countOf(nonces.length, 'pending transaction')} (from nonce ${first} on)`
  const why = problem === undefined ? '' : `: ${problem}`
  return `replacing ${which} in the L1's pool by empty ones for ${sinceText(nowMs - startedAtMs)}${why}`
}

/** A block may already be under construction when the transaction arrives. */
const USUAL_MISSED_BLOCKS = 2

function explainTx(tx: InFlightTx, { from, l1Head }: BatcherStatus, nowMs: number): string {
  const name = `transaction ${tx.hash} (nonce ${tx.nonce})`
  if (tx.minedIn !== undefined)
    return `${name} is in L1 block ${tx.minedIn} and waits for confirmations (the L1 is at block ${l1Head ?? '?'})`
  if (tx.problem !== undefined && /insufficient funds/i.test(tx.problem))
    return `the account ${from} cannot pay for ${name}: ${tx.problem}`
  const since = sinceText(nowMs - tx.startedAtMs)
  const cap = `(fee cap ${gweiText(tx.feeCapWei)})`
  // Waiting a block or two is normal, so the sentence names no problem.
  if (tx.problem === undefined && tx.bumps === 0 && (tx.missedBlocks ?? 0) <= USUAL_MISSED_BLOCKS)
    return `${name} was sent ${since} ago and waits to be mined ${cap}`
  return `${name} is not mined after ${since} and ${countOf(tx.bumps, 'fee bump')} ${cap}${whyNotMined(tx)}`
}

function whyNotMined({ problem, missedBlocks }: InFlightTx): string {
  if (problem !== undefined) return `: ${problem}`
  if (missedBlocks === undefined) return ''
  return missedBlocks === 0
    ? '. The L1 has produced no block since it accepted the transaction'
    : `. The L1 has produced ${countOf(missedBlocks, 'block')} without it`
}

const HOUR_MS = 3_600_000

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
