import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { TokenBucket } from './tokenBucket.ts'

describe('TokenBucket', () => {
  it('lets a burst through and then keeps the rate', async () => {
    const clock = new ManualClock(0)
    const bucket = new TokenBucket(clock, { perSecond: 4, burst: 15 })
    for (let n = 0; n < 15; n++) expect(bucket.take()).toBe(0)
    expect(bucket.take()).toBe(250)
    expect(bucket.take()).toBe(500)
    await clock.advance(500)
    expect(bucket.waitMs()).toBe(250)
    await clock.advance(250)
    expect(bucket.waitMs()).toBe(0)
  })
  it('takes the given amount if one token is there, and nothing if not', async () => {
    const clock = new ManualClock(0)
    const bucket = new TokenBucket(clock, { perSecond: 1, burst: 2 })
    expect(bucket.tryTake()).toBe(true)
    expect(bucket.tryTake(3)).toBe(true)
    expect(bucket.tryTake()).toBe(false)
    await clock.advance(2_000)
    expect(bucket.tryTake()).toBe(false)
    await clock.advance(1_000)
    expect(bucket.tryTake()).toBe(true)
  })
  it('holds no more than the burst, and takes back', async () => {
    const clock = new ManualClock(0)
    const bucket = new TokenBucket(clock, { perSecond: 1, burst: 2 })
    await clock.advance(60_000)
    expect(bucket.take(2)).toBe(0)
    expect(bucket.take()).toBe(1_000)
    bucket.giveBack()
    expect(bucket.waitMs()).toBe(1_000)
    bucket.giveBack(5)
    expect(bucket.take(2)).toBe(0)
    expect(bucket.take()).toBe(1_000)
  })
})
