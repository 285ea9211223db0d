import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { untilStopped, whenAborted } from './untilAborted.ts'

describe('a callback for an aborted signal', () => {
  it('runs once, and at once if the signal has aborted', () => {
    const stop = new AbortController()
    let calls = 0
    const call = (): void => {
      calls += 1
    }
    whenAborted(stop.signal, call)
    expect(calls).toBe(0)
    stop.abort()
    expect(calls).toBe(1)
    whenAborted(stop.signal, call)
    expect(calls).toBe(2)
    whenAborted(undefined, call)
    expect(calls).toBe(2)
  })
})

describe('work during a stop', () => {
  const start = () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    const work = Promise.withResolvers<void>()
    return { clock, stop, work, ended: untilStopped(work.promise, stop.signal, clock) }
  }

  it('may end after the signal', async () => {
    const { clock, stop, work, ended } = start()
    stop.abort()
    await clock.advance(500)
    work.resolve()
    expect(await ended).toBe(true)
  })

  it('is abandoned after a time limit', async () => {
    const { clock, stop, work, ended } = start()
    await clock.advance(60_000)
    stop.abort()
    await clock.advance(1_000)
    expect(await ended).toBe(false)
    // The late rejection is dropped.
    work.reject(new Error('late'))
    await clock.advance(0)
  })

  it('passes its failure on', async () => {
    const { work, ended } = start()
    work.reject(new Error('broken'))
    await expect(ended).rejects.toThrow('broken')
  })
})
