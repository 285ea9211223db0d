import type { Clock } from './clock.ts'
import { LruMap } from './lruMap.ts'

export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** A rate limit with a burst, on the injected clock. The number of tokens may be negative (a debt). */
export class TokenBucket {
  private readonly clock: Clock
  private readonly perSecond: number
  private readonly burst: number
  private tokens: number
  private updatedMs: number

  constructor(clock: Clock, { perSecond, burst }: Rate) {
    this.clock = clock
    this.perSecond = perSecond
    this.burst = burst
    this.tokens = burst
    this.updatedMs = clock.now()
  }

  /** Takes tokens, if necessary as a debt. Returns the milliseconds until the debt is paid (0: no debt). */
  take(count = 1): number {
    this.refill()
    this.tokens -= count
    return this.tokens >= 0 ? 0 : Math.ceil((-this.tokens / this.perSecond) * 1000)
  }

  /** Takes tokens if at least `needed` are available; the rest becomes a debt. Returns false if it took none. */
  tryTake(count = 1, needed = 1): boolean {
    this.refill()
    if (this.tokens < needed) return false
    this.tokens -= count
    return true
  }

  /** Milliseconds until one token is available. Takes none. */
  waitMs(): number {
    this.refill()
    return this.tokens >= 1 ? 0 : Math.ceil(((1 - this.tokens) / this.perSecond) * 1000)
  }

  giveBack(count = 1): void {
    this.tokens = Math.min(this.burst, this.tokens + count)
  }

  /** Drops the remaining tokens. The next token is available after the usual time. */
  empty(): void {
    this.refill()
    this.tokens = Math.min(0, this.tokens)
  }

  private refill(): void {
    const nowMs = this.clock.now()
    const gained = (Math.max(0, nowMs - this.updatedMs) / 1000) * this.perSecond
    this.tokens = Math.min(this.burst, this.tokens + gained)
    this.updatedMs = nowMs
  }
}

/** A bucket with the same rate for each name. Keeps the `remembered` most recently used names. */
export function createTokenBuckets(clock: Clock, rate: Rate, remembered: number): (name: string) => TokenBucket {
  const buckets = new LruMap<string, TokenBucket>(remembered)
  return (name) => {
    const known = buckets.get(name)
    if (known !== undefined) return known
    const bucket = new TokenBucket(clock, rate)
    buckets.set(name, bucket)
    return bucket
  }
}
