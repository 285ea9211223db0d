import { expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { createInstantClock } from '../../lib/testUtils/instantClock.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { fetchSyncStatus } from './syncStatus.ts'

const empty = { hash: ZERO_HASH, number: 0, l1origin: { hash: ZERO_HASH, number: 0 } }
const ref = { ...empty, hash: `0x${'11'.repeat(32)}`, number: 7 }
const statusOf = (l1: object) => ({ head_l1: l1, current_l1: ref, safe_l2: ref, local_safe_l2: ref, unsafe_l2: ref })

/** A rollup node that has just started: it has no L1 head for this many requests. */
async function fetchAfter(emptyAnswers: number): Promise<{ requestedAtMs: number[]; result: unknown }> {
  const clock = createInstantClock()
  const requestedAtMs: number[] = []
  const rollup = {
    request: async () => {
      requestedAtMs.push(clock.now())
      return statusOf(requestedAtMs.length > emptyAnswers ? ref : empty)
    },
  }
  const modules = { rollup, clock, logger: silentLogger }
  const result = await fetchSyncStatus(modules, 2_000, new AbortController().signal).catch((error: unknown) => error)
  return { requestedAtMs, result }
}

it('repeats the request to a rollup node that has just started, after pauses that double', async () => {
  const { requestedAtMs, result } = await fetchAfter(3)
  expect(requestedAtMs).toEqual([0, 250, 750, 1_750])
  expect(result).toMatchObject({ headL1: { number: 7 } })
})

it('fails if the rollup node has no L1 head for the whole timeout', async () => {
  const { requestedAtMs, result } = await fetchAfter(Number.POSITIVE_INFINITY)
  expect(requestedAtMs).toEqual([0, 250, 750, 1_750])
  expect(result).toMatchObject({ code: 'sync-status-timeout', severity: 'temporary' })
})
