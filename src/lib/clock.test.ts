import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ManualClock, sleep, systemClock, timeoutSignal } from './clock.ts'
import { exponentialBackoff, retry } from './retry.ts'

describe('ManualClock', () => {
  it('runs due callbacks in the order of their times, without cancelled ones', async () => {
    const clock = new ManualClock(1000)
    const ran: string[] = []
    clock.setTimeout(() => ran.push(`b@${clock.now()}`), 20)
    clock.setTimeout(() => ran.push(`a@${clock.now()}`), 10)
    clock.setTimeout(() => ran.push('cancelled'), 15)()
    clock.setTimeout(() => ran.push('later'), 31)
    await clock.advance(30)
    expect(ran).toEqual(['a@1010', 'b@1020'])
    expect(clock.now()).toBe(1030)
  })
})

it('the longest limit of a request does not end at once', async () => {
  const signal = timeoutSignal(2_160_000_000)
  // Node runs a timer that is too long after 1 ms, so it would end before this one.
  await once(timeoutSignal(10), 'abort')
  expect(signal.aborted).toBe(false)
})

describe('sleep', () => {
  it('rejects with the reason of the signal and leaves no timer', async () => {
    const controller = new AbortController()
    const sleeping = sleep(systemClock, 60_000, controller.signal)
    controller.abort(new Error('stopping'))
    await expect(sleeping).rejects.toThrow('stopping')
    await expect(sleep(systemClock, 1, controller.signal)).rejects.toThrow('stopping')
  })
})

describe('retry', () => {
  it('retries up to the limit, with growing delays', async () => {
    const clock = new ManualClock()
    const delays: number[] = []
    let calls = 0
    const result = retry(
      async () => {
        calls++
        if (calls < 4) throw new Error(`failure ${calls}`)
        return calls
      },
      {
        clock,
        tries: 4,
        backoff: exponentialBackoff(1000, 3000),
        onRetry: (_error, _attempt, delayMs) => delays.push(delayMs),
      },
    )
    await clock.advance(0)
    await clock.advance(10_000)
    await expect(result).resolves.toBe(4)
    expect(delays).toEqual([1000, 2000, 3000])
  })

  it('rethrows the last error, and a permanent error at once', async () => {
    const clock = new ManualClock()
    const options = { clock, backoff: exponentialBackoff(1, 1), tries: 3, shouldRetry: () => false }
    let calls = 0
    await expect(
      retry(async () => {
        calls++
        throw new Error('bad flag')
      }, options),
    ).rejects.toThrow('bad flag')
    expect(calls).toBe(1)
  })
})

describe('systemClock', () => {
  it('accepts a delay beyond the maximum of timers', async () => {
    let ran = false
    const cancel = systemClock.setTimeout(() => {
      ran = true
    }, 9_999_999 * 3_600_000)
    await sleep(systemClock, 5)
    cancel()
    expect(ran).toBe(false)
  })
})
