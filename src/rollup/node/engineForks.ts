import type { Clock } from '../../lib/clock.ts'
import type { Fork } from '../protocol/index.ts'
import type { EngineForkCheck, EngineForkVerdict } from './forkWatch.ts'

/** The result expires, because the engine may be upgraded. */
const CHECK_AGAIN_MS = 600_000

/**
 * Returns a function that reads whether the engine is ready for a future fork, undefined until the first answer. The
 * answer is cached. Reading an old answer starts a new check, but does not wait for it.
 */
export function createEngineForks({ check, clock }: { check: EngineForkCheck; clock: Clock }) {
  const checked = new Map<Fork, { atMs: number; verdict: EngineForkVerdict | undefined }>()
  return (fork: { name: Fork; time: number }): EngineForkVerdict | undefined => {
    const known = checked.get(fork.name)
    const nowMs = clock.now()
    if (known !== undefined && nowMs - known.atMs < CHECK_AGAIN_MS) return known.verdict
    const entry = { atMs: nowMs, verdict: known?.verdict }
    checked.set(fork.name, entry)
    const keep = (verdict: EngineForkVerdict | undefined) => {
      entry.verdict = verdict
    }
    // Other checks report an engine that does not answer.
    check(fork).then(keep, () => keep(undefined))
    return entry.verdict
  }
}
