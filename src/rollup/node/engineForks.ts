import type { Clock } from '../../lib/clock.ts'
import type { Fork } from '../protocol/index.ts'
import type { EngineForkCheck, EngineForkVerdict } from './forkWatch.ts'

/** An engine is replaced by a newer one now and then. */
const ASK_AGAIN_MS = 600_000

/** Keeps the engine's last verdict on a fork ahead. Reading asks again where that is old, and waits for no answer. */
export class EngineForks {
  private readonly check: EngineForkCheck
  private readonly clock: Clock
  private readonly asked = new Map<Fork, { atMs: number; verdict: EngineForkVerdict | undefined }>()

  constructor({ check, clock }: { check: EngineForkCheck; clock: Clock }) {
    this.check = check
    this.clock = clock
  }

  /** Undefined: it has not answered yet. */
  read(fork: { name: Fork; time: number }): EngineForkVerdict | undefined {
    const known = this.asked.get(fork.name)
    const nowMs = this.clock.now()
    if (known !== undefined && nowMs - known.atMs < ASK_AGAIN_MS) return known.verdict
    const entry = { atMs: nowMs, verdict: known?.verdict }
    this.asked.set(fork.name, entry)
    this.check(fork).then(
      (verdict) => {
        entry.verdict = verdict
      },
      // An engine that does not answer is told of elsewhere.
      () => {
        entry.verdict = undefined
      },
    )
    return entry.verdict
  }
}
