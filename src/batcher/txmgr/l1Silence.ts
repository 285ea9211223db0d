import { type Clock, sleep } from '../../lib/clock.ts'
import { JsonRpcError } from '../../lib/jsonRpc/types.ts'
import type { L1Endpoint } from '../l1Endpoint.ts'

/** An L1 that answers nothing for this long is not waited for by a program that is to end. */
export const L1_SILENCE_LIMIT_MS = 4_000
const PROBE_INTERVAL_MS = 500

/** Resolves once the L1 has answered nothing for `L1_SILENCE_LIMIT_MS`, or with false when `stop` aborts. An error is an answer. */
export async function l1FallsSilent(
  { l1, clock }: { l1: Pick<L1Endpoint, 'head'>; clock: Clock },
  stop: AbortSignal,
): Promise<boolean> {
  while (!stop.aborted) {
    const limit = new AbortController()
    const cancel = clock.setTimeout(() => limit.abort(), L1_SILENCE_LIMIT_MS)
    const answered = await answers(l1, clock, AbortSignal.any([limit.signal, stop]))
    cancel()
    if (!answered) return !stop.aborted
    await pause(clock, stop)
  }
  return false
}

/** Asks until there is an answer (true) or the signal aborts (false). */
async function answers(l1: Pick<L1Endpoint, 'head'>, clock: Clock, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await l1.head(signal)
      return true
    } catch (error) {
      if (error instanceof JsonRpcError) return true
      await pause(clock, signal)
    }
  }
  return false
}

function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  return sleep(clock, PROBE_INTERVAL_MS, signal).catch(() => {})
}
