import type { Hex } from '../../lib/hex.ts'
import { countOf, gweiText, sinceText } from '../../lib/phrases.ts'
import type { Reachability } from '../l1/reachability.ts'
import type { CancelStatus } from '../txmgr/poolCleaner.ts'
import type { InFlightTx } from '../txmgr/types.ts'

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
  /** The oldest block that is held and not confirmed on L1. */
  firstUnsaved: number | undefined
  /** Blocks in no channel. */
  pendingBlocks: number
  /** What the blocks held take in memory. */
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
  /** What stands in the L1's pool and has to give way. */
  cancelling: CancelStatus | undefined
  /** Why the next transaction cannot be made. */
  craftProblem: string | undefined
  /** Why the last transaction was given up; undefined once one is confirmed. */
  sendError: string | undefined
  lastHour: { transactions: number; bytes: number; costGwei: number }
  throttling: boolean
}

/** In one sentence why nothing lands, or that all is well. */
export function explainStatus(status: BatcherStatus, nowMs: number): string {
  const { running, stopping, firstUnsaved } = status
  if (running) return `${stopping ? 'stopping: ' : ''}${explainRun(status, nowMs)}`
  const lacking = firstUnsaved === undefined ? '' : `, and L2 block ${firstUnsaved} and those after it are not on L1`
  return `the batcher is stopped${lacking}; admin_startBatcher starts it`
}

function explainRun(status: BatcherStatus, nowMs: number): string {
  if (status.rollupNode.error !== undefined) return `the rollup node cannot be used: ${status.rollupNode.error}`
  if (status.rollupNode.lastAnswerMs === undefined) return 'the rollup node has not answered yet'
  if (status.l1.error !== undefined) return `the L1 cannot be used: ${status.l1.error}`
  if (status.cancelling !== undefined) return explainCancels(status.cancelling, nowMs)
  if (status.waitsFor !== undefined) return `nothing is loaded yet: ${status.waitsFor}`
  const [oldest] = status.inFlight
  if (oldest !== undefined) return explainTx(oldest, status, nowMs)
  if (status.craftProblem !== undefined) return `no transaction can be made: ${status.craftProblem}`
  if (status.channelsToConfirm > 0) {
    const why = status.sendError === undefined ? '' : `; the last transaction was given up: ${status.sendError}`
    return `${countOf(status.channelsToConfirm, 'channel')} to be sent${why}`
  }
  const { openChannel: open } = status
  if (open !== undefined) {
    const when =
      open.closesAt === undefined
        ? 'when it is full'
        : `when it is full, or at L1 block ${open.closesAt.l1Block} (${open.closesAt.reason}; the L1 is at ${status.l1Head ?? '?'})`
    return `blocks ${open.firstBlock} to ${open.lastBlock} are in an open channel, which closes ${when}`
  }
  if (status.pendingBlocks > 0) return `${countOf(status.pendingBlocks, 'block')} to be put into a channel`
  const behind = (status.unsafe ?? 0) - (status.safe ?? 0)
  const derived = behind > 0 ? `; it has yet to derive the last ${countOf(behind, 'block')} from there` : ''
  return `all blocks that the rollup node has are on L1${derived}`
}

/** False: somebody should look after it. A transaction that only waits for its block is none of that. */
export function isWell(status: BatcherStatus): boolean {
  const { running, rollupNode, l1, craftProblem, sendError, inFlight } = status
  const problems = [rollupNode.error, l1.error, craftProblem, sendError, ...inFlight.map(({ problem }) => problem)]
  return running && problems.every((problem) => problem === undefined)
}

function explainCancels({ nonces, startedAtMs, problem }: CancelStatus, nowMs: number): string {
  const [first] = nonces
  const which =
    first === undefined
      ? 'what stands in its pool'
      : `${countOf(nonces.length, 'transaction')} in its pool (from nonce ${first} on)`
  const why = problem === undefined ? '' : `; ${problem}`
  return `waiting for cancels: on the L1, ${which} must give way to empty ones, for ${sinceText(nowMs - startedAtMs)} now${why}`
}

/** A block may be under way while a transaction comes. */
const USUAL_MISSED_BLOCKS = 2

function explainTx(tx: InFlightTx, { from, l1Head }: BatcherStatus, nowMs: number): string {
  const name = `transaction ${tx.hash} (nonce ${tx.nonce})`
  if (tx.minedIn !== undefined)
    return `${name} is in L1 block ${tx.minedIn} and waits for confirmations (the L1 is at ${l1Head ?? '?'})`
  if (tx.problem !== undefined && /insufficient funds/i.test(tx.problem))
    return `the account ${from} cannot pay for ${name}: ${tx.problem}`
  const since = sinceText(nowMs - tx.startedAtMs)
  const cap = `(fee cap ${gweiText(tx.feeCapWei)})`
  // What every transaction does for a block or so is no complaint.
  if (tx.problem === undefined && tx.bumps === 0 && (tx.missedBlocks ?? 0) <= USUAL_MISSED_BLOCKS)
    return `${name} was sent ${since} ago and waits for its block ${cap}`
  return `${name} is in no block after ${since} and ${countOf(tx.bumps, 'fee bump')} ${cap}${whyNotMined(tx)}`
}

function whyNotMined({ problem, missedBlocks }: InFlightTx): string {
  if (problem !== undefined) return `: ${problem}`
  if (missedBlocks === undefined) return ''
  return missedBlocks === 0
    ? '; the L1 has made no block since it took the transaction'
    : `; the L1 took it ${countOf(missedBlocks, 'block')} ago and made none with it`
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
