import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import type { Reachability } from './reachability.ts'
import type { SubmitterL1 } from './submitterL1.ts'

const LOOKS_PER_BLOCK = 4
/** Bounds of the time between two looks. The longest suits Ethereum's blocks of 12 s. */
const MIN_LOOK_MS = 250
const MAX_LOOK_MS = 3_000
/** Until two heads have told how long a block takes. */
const FIRST_LOOK_MS = 1_000

/** The L1's newest head. The L1 is asked for it by `read`, and again and again while somebody waits for the next head. */
export class L1Heads {
  private readonly modules: { l1: Pick<SubmitterL1, 'head'>; clock: Clock }
  private readonly waiters = new Set<WakeUp>()
  private looking = new AbortController()
  private lookMs = FIRST_LOOK_MS
  private head: L1BlockRef | undefined
  private reach: Reachability = { lastAnswerMs: undefined, error: undefined }
  private changes = 0

  constructor(modules: { l1: Pick<SubmitterL1, 'head'>; clock: Clock }) {
    this.modules = modules
  }

  get latest(): L1BlockRef | undefined {
    return this.head
  }

  get reachability(): Reachability {
    return this.reach
  }

  /** Grows with each new head. A caller keeps it from before it looks at the L1, and gives it to `changed`. */
  get version(): number {
    return this.changes
  }

  /** Rejects with what the L1 answers when it does not tell. */
  async read(signal: AbortSignal): Promise<L1BlockRef> {
    try {
      const head = await this.modules.l1.head(signal)
      this.note(head)
      return head
    } catch (error) {
      if (!signal.aborted) this.reach = { ...this.reach, error: describeError(error) }
      throw error
    }
  }

  /** Resolves once there is a head that `version` does not count, or after `limitMs`. Rejects with the signal's reason. */
  async changed(version: number, limitMs: number, signal: AbortSignal): Promise<void> {
    if (this.changes !== version) return
    const wakeUp = new WakeUp(this.modules.clock)
    this.waiters.add(wakeUp)
    if (this.waiters.size === 1) this.startLooking()
    await wakeUp.wait(signal, limitMs)
    this.waiters.delete(wakeUp)
    if (this.waiters.size === 0) this.looking.abort()
    signal.throwIfAborted()
  }

  private note(head: L1BlockRef): void {
    const { head: before, reach } = this
    this.head = head
    this.reach = { lastAnswerMs: this.modules.clock.now(), error: undefined }
    // What was asked of the L1 while it did not answer is worth asking again.
    if (before?.hash === head.hash && reach.error === undefined) return
    if (before !== undefined && head.number > before.number) {
      const blockTimeMs = ((head.timestamp - before.timestamp) * 1000) / (head.number - before.number)
      this.lookMs = Math.min(MAX_LOOK_MS, Math.max(MIN_LOOK_MS, blockTimeMs / LOOKS_PER_BLOCK))
    }
    this.changes++
    for (const waiter of this.waiters) waiter.wake()
  }

  private startLooking(): void {
    this.looking = new AbortController()
    void this.look(this.looking.signal)
  }

  /** Never rejects. */
  private async look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sleep(this.modules.clock, this.lookMs, signal)
        await this.read(signal)
      } catch {
        // The next look tries again; the status has the reason.
      }
    }
  }
}
