import { expect, it } from 'vitest'
import { SerialLock } from './serialLock.ts'

it('runs sections in order, one at a time, also after one that fails', async () => {
  const lock = new SerialLock()
  const events: string[] = []
  const section = (name: string, fails: boolean) =>
    lock.run(async () => {
      events.push(`${name} in`)
      await new Promise((resolve) => setImmediate(resolve))
      events.push(`${name} out`)
      if (fails) throw new Error(name)
      return name
    })
  const results = await Promise.allSettled([section('a', false), section('b', true), section('c', false)])
  expect(events).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})
