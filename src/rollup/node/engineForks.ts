import type { Clock } from '../../lib/clock.ts'
import type { Fork } from '../protocol/index.ts'
import type { EngineForkCheck, EngineForkVerdict } from './forkWatch.ts'

/** The result expires, because the engine may be upgraded. */
const CHECK_AGAIN_MS = 600_000

/**
 * Caches whether the engine is ready for a future fork. Reading an old result starts a new check, but does not wait for
 * it.
 */
export class EngineForks {
  private readonly check: EngineForkCheck
  private readonly clock: Clock
  private readonly checked = new Map<Fork, { atMs: number; verdict: EngineForkVerdict | undefined }>()

  constructor({ check, clock }: { check: EngineForkCheck; clock: Clock }) {
    this.check = check
    this.clock = clock
  }

  /** Undefined until the first answer. */
  read(fork: { name: Fork; time: number }): EngineForkVerdict | undefined {
    const known = this.checked.get(fork.name)
    const nowMs = this.clock.now()
    if (known !== undefined && nowMs - known.atMs < CHECK_AGAIN_MS) return known.verdict
    const entry = { atMs: nowMs, verdict: known?.verdict }
    this.checked.set(fork.name, entry)
    this.check(fork).then(
      (verdict) => {
        entry.verdict = verdict
      },
      // Other checks report an engine that does not answer.
      () => {
        entry.verdict = undefined
      },
    )
    return entry.verdict
  }
}
