import { describe, expect, it } from 'vitest'
import { createPerPeerLimiter } from './perPeerLimiter.ts'

describe('createPerPeerLimiter', () => {
  it('delays a peer only by its own jobs', async () => {
    const limiter = createPerPeerLimiter({ atOnce: 2, maxWaiting: 3 })
    const begun: string[] = []
    const ends: (() => void)[] = []
    const work = (name: string) => () => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
    const runs = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1'].map((name) => limiter.run(name.slice(0, 1), work(name)))
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    expect(runs[5]).toBeUndefined()
    expect(limiter.active('a')).toBe(2)
    ends[0]?.()
    await runs[0]
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
    for (let n = 0; n < 6; n++) {
      ends[n]?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(runs)
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4', 'a5'])
    expect([limiter.active('a'), limiter.active('b')]).toEqual([0, 0])
  })

  it('counts a job that begins between the ends of two others', async () => {
    const limiter = createPerPeerLimiter({ atOnce: 2, maxWaiting: 3 })
    const first = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const last = Promise.withResolvers<void>()
    const runs = [first, second].map((work) => limiter.run('a', () => work.promise))
    let running: Promise<void> | undefined
    const begin = async () => {
      await null
      await null
      running = limiter.run('a', () => last.promise)
    }
    first.resolve()
    runs.push(begin())
    second.resolve()
    await Promise.all(runs)
    expect(limiter.active('a')).toBe(1)
    last.resolve()
    await running
    expect(limiter.active('a')).toBe(0)
  })

  it('passes on the error of a failed job, and runs the next job', async () => {
    const limiter = createPerPeerLimiter({ atOnce: 1, maxWaiting: 3 })
    const failing = limiter.run('a', () => Promise.reject(new Error('broken')))
    const behind = limiter.run('a', () => Promise.reject(new Error('broken too')))
    const last = limiter.run('a', () => Promise.resolve())
    await expect(failing).rejects.toThrow('broken')
    await expect(behind).rejects.toThrow('broken too')
    await last
    expect(limiter.active('a')).toBe(0)
  })
})
