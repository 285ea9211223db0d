import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import type { SubmitterL1 } from './submitterL1.ts'

/** Whether an endpoint answers the submitter's requests. */
export interface Reachability {
  /** Undefined until the endpoint has answered once. */
  lastAnswerMs: number | undefined
  /** Why the last request failed. Undefined if it succeeded. */
  error: string | undefined
}

const POLLS_PER_BLOCK = 4
/** Bounds of the poll interval. The upper bound suits Ethereum's blocks of 12 s. */
const MIN_POLL_MS = 250
const MAX_POLL_MS = 3_000
/** Poll interval until two heads have shown the block time. */
const FIRST_POLL_MS = 1_000

/** Tracks the L1's newest head. `read` requests it once. While a caller waits in `changed`, the head is polled. */
export class L1Heads {
  private readonly modules: { l1: Pick<SubmitterL1, 'head'>; clock: Clock }
  private readonly waiters = new Set<WakeUp>()
  private polling = new AbortController()
  private pollMs = FIRST_POLL_MS
  latest: L1BlockRef | undefined
  reachability: Reachability = { lastAnswerMs: undefined, error: undefined }
  /**
   * Counts the new heads. Read `version` before you use the L1, and pass it to `changed`: then no head in between is
   * missed.
   */
  version = 0

  constructor(modules: { l1: Pick<SubmitterL1, 'head'>; clock: Clock }) {
    this.modules = modules
  }

  /** Rejects with the L1's error when the request fails. */
  async read(signal: AbortSignal): Promise<L1BlockRef> {
    try {
      const head = await this.modules.l1.head(signal)
      this.note(head)
      return head
    } catch (error) {
      if (!signal.aborted) this.reachability = { ...this.reachability, error: describeError(error) }
      throw error
    }
  }

  /** Resolves when a head newer than `version` is known, or after `limitMs`. Rejects with the signal's reason. */
  async changed(version: number, limitMs: number, signal: AbortSignal): Promise<void> {
    if (this.version !== version) return
    const wakeUp = new WakeUp(this.modules.clock)
    this.waiters.add(wakeUp)
    if (this.waiters.size === 1) this.startPolling()
    await wakeUp.wait(signal, limitMs)
    this.waiters.delete(wakeUp)
    if (this.waiters.size === 0) this.polling.abort()
    signal.throwIfAborted()
  }

  private note(head: L1BlockRef): void {
    const { latest: before, reachability } = this
    this.latest = head
    this.reachability = { lastAnswerMs: this.modules.clock.now(), error: undefined }
    // The first answer after an outage counts as a change: requests that failed meanwhile are worth a retry.
    if (before?.hash === head.hash && reachability.error === undefined) return
    if (before !== undefined && head.number > before.number) {
      const blockTimeMs = ((head.timestamp - before.timestamp) * 1000) / (head.number - before.number)
      this.pollMs = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, blockTimeMs / POLLS_PER_BLOCK))
    }
    this.version++
    for (const waiter of this.waiters) waiter.wake()
  }

  private startPolling(): void {
    this.polling = new AbortController()
    void this.poll(this.polling.signal)
  }

  private async poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sleep(this.modules.clock, this.pollMs, signal)
        await this.read(signal)
      } catch {
        // The next poll retries. `reachability` holds the error.
      }
    }
  }
}
