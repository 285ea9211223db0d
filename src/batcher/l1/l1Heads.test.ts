import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { toHex } from '../../lib/hex.ts'
import { type L1BlockRef, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { L1Heads } from './l1Heads.ts'

const never = new AbortController().signal

/** An L1 whose block number follows the test's clock. */
class FakeL1 {
  number = 0
  secondsPerBlock = 12
  polls = 0
  isPruned = false

  async head(): Promise<L1BlockRef> {
    this.polls++
    if (this.isPruned) throw new Error('connection refused')
    const { number, secondsPerBlock } = this
    const hash = toHex(new Uint8Array(32).fill(number + 1))
    return { number, hash, parentHash: ZERO_HASH, timestamp: number * secondsPerBlock }
  }
}

function setUp() {
  const clock = new ManualClock()
  const l1 = new FakeL1()
  const heads = new L1Heads({ l1, clock })
  /** Returns whether the waiting caller was notified. */
  const wait = (version: number, limitMs = 60_000, signal = never) => {
    const state = { isOver: false }
    const waited = heads.changed(version, limitMs, signal).finally(() => {
      state.isOver = true
    })
    return { state, waited }
  }
  return { clock, l1, heads, wait }
}

describe('a new head', () => {
  it('is reported to all waiting callers', async () => {
    const { clock, l1, heads, wait } = setUp()
    await heads.read(never)
    const { version } = heads
    const waiting = [wait(version), wait(version)]
    await clock.advance(5_000)
    expect(waiting.map(({ state }) => state.isOver)).toEqual([false, false])
    l1.number = 1
    await clock.advance(1_000)
    await Promise.all(waiting.map(({ waited }) => waited))
    expect(heads.latest?.number).toBe(1)
  })

  it('is not missed by a caller that used the L1 before the head arrived', async () => {
    const { l1, heads } = setUp()
    await heads.read(never)
    const { version } = heads
    l1.number = 1
    await heads.read(never)
    await heads.changed(version, 60_000, never)
  })

  it('is also another block of the same number', async () => {
    const { clock, l1, heads, wait } = setUp()
    await heads.read(never)
    const { state, waited } = wait(heads.version)
    const { head } = l1
    l1.head = async () => ({ ...(await head.call(l1)), hash: ZERO_HASH })
    await clock.advance(1_000)
    await waited
    expect(state.isOver).toBe(true)
  })

  it('is also reported when the L1 answers after an outage', async () => {
    const { clock, l1, heads, wait } = setUp()
    await heads.read(never)
    l1.isPruned = true
    const { state } = wait(heads.version)
    await clock.advance(5_000)
    expect(state.isOver).toBe(false)
    expect(heads.reachability).toEqual({ lastAnswerMs: 0, error: 'connection refused' })
    l1.isPruned = false
    await clock.advance(1_000)
    expect(state.isOver).toBe(true)
    expect(heads.reachability.error).toBeUndefined()
  })

  it('is waited for no longer than the limit, or the signal', async () => {
    const { clock, heads, wait } = setUp()
    await heads.read(never)
    const limited = wait(heads.version, 700)
    const ended = new AbortController()
    const given = wait(heads.version, 60_000, ended.signal)
    await clock.advance(700)
    await limited.waited
    ended.abort(new Error('given up'))
    await expect(given.waited).rejects.toThrow('given up')
  })
})

describe('polls', () => {
  it.each([
    { secondsPerBlock: 12, polls: 4 },
    { secondsPerBlock: 2, polls: 24 },
    { secondsPerBlock: 1, polls: 48 },
  ])('come four times in a block of $secondsPerBlock s', async ({ secondsPerBlock, polls }) => {
    const { clock, l1, heads, wait } = setUp()
    l1.secondsPerBlock = secondsPerBlock
    await heads.read(never)
    l1.number = 1
    await heads.read(never)
    l1.polls = 0
    wait(heads.version)
    await clock.advance(12_000)
    expect(l1.polls).toBe(polls)
  })

  it('end when no caller waits', async () => {
    const { clock, l1, heads, wait } = setUp()
    await heads.read(never)
    const ended = new AbortController()
    const { waited } = wait(heads.version, 60_000, ended.signal)
    ended.abort(new Error('given up'))
    await expect(waited).rejects.toThrow('given up')
    l1.polls = 0
    await clock.advance(60_000)
    expect(l1.polls).toBe(0)
  })
})
