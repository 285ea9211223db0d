import type { Clock } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import type { Logger } from '../lib/logger.ts'
import { exponentialBackoff } from '../lib/retry.ts'
import { WakeUp } from '../lib/wakeUp.ts'
import type { L1BlockRef } from '../rollup/protocol/types.ts'
import { toL1BlockRef } from './block.ts'
import type { L1BlockLabel, L1Client } from './types.ts'

export interface L1HeadTrackerOptions {
  /** Poll interval of `latest` (`--l1.http-poll-interval`). */
  pollIntervalMs: number
  /** Poll interval of `safe` and `finalized` (`--l1.epoch-poll-interval`). */
  epochPollIntervalMs: number
}

export type L1HeadListener = (ref: L1BlockRef) => void

export interface L1HeadProblem {
  message: string
  /** Unix time in milliseconds of the first failed poll. */
  sinceMs: number
}

/** Reports changes of L1's latest, safe and finalized block. Add listeners before `start`. */
export interface L1HeadTracker {
  onHead(listener: L1HeadListener): void
  onSafe(listener: L1HeadListener): void
  onFinalized(listener: L1HeadListener): void
  /** The error of the last polls of the head; undefined if the last poll succeeded. */
  problem(): L1HeadProblem | undefined
  /** Polls the head at once, because a notification of a new head has arrived. */
  pollNow(): void
  /** Polls at once, then repeatedly until the signal aborts. */
  start(signal: AbortSignal): void
}

/** Delay after the first failure, and the longest delay between tries. */
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000

export function createL1HeadTracker(
  { client, clock, logger }: { client: Pick<L1Client, 'blockInfoByLabel'>; clock: Clock; logger: Logger },
  options: L1HeadTrackerOptions,
): L1HeadTracker {
  const listeners: Record<L1BlockLabel, L1HeadListener[]> = { latest: [], safe: [], finalized: [] }
  const lastHash = new Map<L1BlockLabel, string>()
  const headWakeUp = new WakeUp(clock)
  let started = false
  let problem: L1HeadProblem | undefined

  const readLabel = async (label: L1BlockLabel, signal: AbortSignal) => {
    const info = await client.blockInfoByLabel(label)
    // A young chain has no safe or finalized block.
    if (info === undefined || signal.aborted || lastHash.get(label) === info.hash) return
    lastHash.set(label, info.hash)
    const ref = toL1BlockRef(info)
    logger.debug('New L1 block', { label, number: ref.number, hash: ref.hash })
    for (const listener of listeners[label]) listener(ref)
  }

  const poll = async (label: L1BlockLabel, intervalMs: number, signal: AbortSignal) => {
    const wakeUp = label === 'latest' ? headWakeUp : new WakeUp(clock)
    const backoff = exponentialBackoff(Math.min(FIRST_RETRY_MS, intervalMs), Math.max(MAX_RETRY_MS, intervalMs), 100)
    let failures = 0
    while (!signal.aborted) {
      try {
        await readLabel(label, signal)
        if (failures > 0) logger.info('L1 endpoint answers again', { label, failures })
        failures = 0
        if (label === 'latest') problem = undefined
      } catch (error) {
        failures++
        if (label === 'latest') {
          problem = { message: describeError(error), sinceMs: problem?.sinceMs ?? clock.now() }
        }
        // One line for an outage; the next line reports its end.
        if (failures === 1 && !signal.aborted) {
          logger.warn('Cannot read L1 head', { label, err: describeError(error) })
        }
      }
      await wakeUp.wait(signal, failures === 0 ? intervalMs : backoff(failures))
    }
  }

  return {
    onHead: (listener) => void listeners.latest.push(listener),
    onSafe: (listener) => void listeners.safe.push(listener),
    onFinalized: (listener) => void listeners.finalized.push(listener),
    problem: () => problem,
    pollNow: () => headWakeUp.wake(),
    start(signal) {
      if (started) return
      started = true
      // Each label has its own loop: an endpoint may support one label and reject another.
      for (const [label, intervalMs] of [
        ['latest', options.pollIntervalMs],
        ['safe', options.epochPollIntervalMs],
        ['finalized', options.epochPollIntervalMs],
      ] as const) {
        // The loop ends when the signal aborts, because its sleep then rejects.
        poll(label, intervalMs, signal).catch((error: unknown) => {
          if (!signal.aborted) logger.error('L1 head tracking stopped', { err: describeError(error) })
        })
      }
    },
  }
}
