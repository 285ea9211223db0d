import { POOL_ERROR_TEXTS, type PoolErrorCode } from '../txPool/errors.ts'

/** Upper bounds in seconds: from a cached result to an executed block. */
export const DURATION_BOUNDS = [0.0005, 0.002, 0.01, 0.05, 0.2, 1, 5]

/** Pool errors that geth counts separately, found by their text. */
const REFUSALS = ['already-known', 'underpriced', 'pool-full'] as const satisfies PoolErrorCode[]

const OUTCOMES = ['success', 'failure', ...REFUSALS] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The calls of a method. */
export interface MethodCounts {
  outcomes: Partial<Record<Outcome, number>>
  seconds: number
  /** Calls by duration: above the bound before, at most the bound. The last are above all bounds. */
  durations: number[]
}

/** By method. Its size does not depend on the number of calls. */
export type CallCounts = Record<string, MethodCounts>

/** `method` must not be chosen by the client. */
export function countCall(
  counts: CallCounts,
  method: string,
  durationMs: number,
  error: { message: string } | undefined,
): void {
  const refusal = REFUSALS.find((code) => error?.message.startsWith(POOL_ERROR_TEXTS[code]))
  const outcome = error === undefined ? 'success' : (refusal ?? 'failure')
  const seconds = durationMs / 1000
  const bound = DURATION_BOUNDS.findIndex((upTo) => seconds <= upTo)
  const place = bound === -1 ? DURATION_BOUNDS.length : bound
  addCounts(counts, {
    [method]: { outcomes: { [outcome]: 1 }, seconds, durations: NO_CALLS.with(place, 1) },
  })
}

export function addCounts(sum: CallCounts, added: CallCounts): void {
  for (const [method, { outcomes, seconds, durations }] of Object.entries(added)) {
    sum[method] ??= { outcomes: {}, seconds: 0, durations: NO_CALLS }
    const counts = sum[method]
    for (const outcome of OUTCOMES) {
      counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + (outcomes[outcome] ?? 0)
    }
    counts.seconds += seconds
    counts.durations = counts.durations.map((calls, place) => calls + (durations[place] ?? 0))
  }
}

const NO_CALLS: number[] = [...DURATION_BOUNDS.map(() => 0), 0]
