import { type Clock, sleep } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import type { BatcherMetrics } from './metrics.ts'

/** op-batcher's. */
const INTERVAL_MS = 10_000

/** Keeps the metric of the account's balance up to date until `signal` aborts. Never rejects. */
export async function watchBalance(
  { l1, clock, metrics }: { l1: Pick<SubmitterL1, 'balance'>; clock: Clock; metrics: Pick<BatcherMetrics, 'balance'> },
  address: Hex,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      metrics.balance(Number(await l1.balance(address, signal)) / 1e18)
    } catch {
      // The L1 does not answer: the metric keeps the last value.
    }
    await sleep(clock, INTERVAL_MS, signal).catch(() => {})
  }
}
