import { describe, expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { createLogger } from '../lib/logger.ts'
import { nextTurn } from '../lib/nextTurn.ts'
import type { L1BlockInfo, L1BlockRef } from '../rollup/protocol/types.ts'
import { createL1HeadTracker } from './headTracker.ts'
import type { L1BlockLabel } from './types.ts'

const INTERVALS = { pollIntervalMs: 12_000, epochPollIntervalMs: 384_000 }

function block(number: number, fork = 'a'): L1BlockInfo {
  const hash = (n: number): `0x${string}` => `0x${fork}${n.toString().padStart(63, '0')}`
  return {
    hash: hash(number),
    number,
    parentHash: hash(number - 1),
    timestamp: number * 12,
    mixHash: '0x',
    baseFeePerGas: 1n,
  }
}

/** A tracker over an L1 that the test changes. */
function setUp() {
  const clock = new ManualClock()
  const lines: string[] = []
  const logger = createLogger({ level: 'info', format: 'json', color: false, write: (line) => lines.push(line) })
  const answers: Partial<Record<L1BlockLabel, L1BlockInfo | Error>> = {}
  const polls: { label: L1BlockLabel; at: number }[] = []
  const client = {
    async blockInfoByLabel(label: L1BlockLabel) {
      polls.push({ label, at: clock.now() })
      const answer = answers[label]
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  const tracker = createL1HeadTracker({ client, clock, logger }, INTERVALS)
  const seen: Record<L1BlockLabel, L1BlockRef[]> = { latest: [], safe: [], finalized: [] }
  tracker.onHead((ref) => seen.latest.push(ref))
  tracker.onSafe((ref) => seen.safe.push(ref))
  tracker.onFinalized((ref) => seen.finalized.push(ref))
  const abort = new AbortController()
  return { clock, lines, answers, polls, tracker, seen, abort }
}

describe('L1 head tracker', () => {
  it('reads the head at once after a notification of a new head', async () => {
    const { clock, answers, polls, tracker, seen, abort } = setUp()
    answers.latest = block(5)
    tracker.start(abort.signal)
    await nextTurn()
    answers.latest = block(6)
    tracker.pollNow()
    await nextTurn()
    expect(seen.latest.map(({ number }) => number)).toEqual([5, 6])
    expect(polls.filter(({ label }) => label === 'latest').map(({ at }) => at)).toEqual([0, 0])
    await clock.advance(12_000)
    expect(polls.filter(({ label }) => label === 'latest').map(({ at }) => at)).toEqual([0, 0, 12_000])
    abort.abort()
  })

  it('polls at once, then at its intervals, and reports only changes', async () => {
    const { clock, answers, polls, tracker, seen, abort } = setUp()
    answers.latest = block(5)
    tracker.start(abort.signal)
    await nextTurn()
    expect(seen.latest).toEqual([{ hash: block(5).hash, number: 5, parentHash: block(4).hash, timestamp: 60 }])
    await clock.advance(24_000)
    expect(seen.latest).toHaveLength(1)
    answers.latest = block(5, 'b')
    answers.finalized = block(1)
    await clock.advance(12_000)
    expect(seen.latest.map(({ hash }) => hash)).toEqual([block(5).hash, block(5, 'b').hash])
    expect(seen.finalized).toEqual([])
    await clock.advance(384_000 - 36_000)
    expect(seen.finalized.map(({ number }) => number)).toEqual([1])
    expect(polls.filter(({ label }) => label === 'latest').map(({ at }) => at)).toEqual(
      Array.from({ length: 33 }, (_, index) => index * 12_000),
    )
    expect(polls.filter(({ label }) => label === 'safe').map(({ at }) => at)).toEqual([0, 384_000])
    abort.abort()
  })

  it('logs one line per outage and one at its end, and polls less often meanwhile', async () => {
    const { clock, answers, polls, lines, tracker, seen, abort } = setUp()
    answers.latest = new Error('connection refused')
    tracker.start(abort.signal)
    await nextTurn()
    await clock.advance(60_000)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('connection refused')
    const during = polls.filter(({ label }) => label === 'latest').length
    expect(during).toBeGreaterThan(4)
    expect(during).toBeLessThan(9)
    expect(tracker.problem()).toEqual({ message: 'connection refused', sinceMs: 0 })
    answers.latest = block(9)
    await clock.advance(31_000)
    expect(seen.latest.map(({ number }) => number)).toEqual([9])
    expect(lines).toHaveLength(2)
    expect(lines[1]).toContain('answers again')
    expect(tracker.problem()).toBeUndefined()
    abort.abort()
  })

  it('accepts a missing safe or finalized block as a young chain', async () => {
    const { answers, lines, tracker, seen, abort } = setUp()
    answers.latest = block(1)
    tracker.start(abort.signal)
    await nextTurn()
    expect(seen.safe).toEqual([])
    expect(lines).toEqual([])
    abort.abort()
  })

  it('reads the finalized block even if the safe block is refused', async () => {
    const { clock, answers, tracker, seen, lines, abort } = setUp()
    answers.latest = block(9)
    answers.safe = new Error('safe block not supported')
    answers.finalized = block(3)
    tracker.start(abort.signal)
    await nextTurn()
    expect(seen.finalized.map(({ number }) => number)).toEqual([3])
    answers.finalized = block(5)
    await clock.advance(384_000)
    expect(seen.finalized.map(({ number }) => number)).toEqual([3, 5])
    expect(lines.filter((line) => line.includes('not supported'))).toHaveLength(1)
    abort.abort()
  })

  it('stops with its signal', async () => {
    const { clock, answers, polls, lines, tracker, abort } = setUp()
    answers.latest = block(1)
    tracker.start(abort.signal)
    await nextTurn()
    abort.abort()
    const before = polls.length
    await clock.advance(1_000_000)
    expect(polls).toHaveLength(before)
    expect(lines).toEqual([])
  })
})
