import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { untilStopped, whenAborted } from './untilAborted.ts'

describe('what is to be done when a signal aborts', () => {
  it('is done once, and at once when it has', () => {
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

describe('work that a program waits for', () => {
  const start = () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    const work = Promise.withResolvers<void>()
    return { clock, stop, work, ended: untilStopped(work.promise, stop.signal, clock) }
  }

  it('may come to its end after the signal', async () => {
    const { clock, stop, work, ended } = start()
    stop.abort()
    await clock.advance(500)
    work.resolve()
    expect(await ended).toBe(true)
  })

  it('is not waited for any longer when it does not', async () => {
    const { clock, stop, work, ended } = start()
    await clock.advance(60_000)
    stop.abort()
    await clock.advance(1_000)
    expect(await ended).toBe(false)
    // The late rejection is dropped.
    work.reject(new Error('late'))
    await clock.advance(0)
  })

  it('fails as it does', async () => {
    const { work, ended } = start()
    work.reject(new Error('broken'))
    await expect(ended).rejects.toThrow('broken')
  })
})
