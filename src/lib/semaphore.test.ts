import { expect, it } from 'vitest'
import { nextTurn } from './nextTurn.ts'
import { createSemaphore } from './semaphore.ts'

it('runs a limited number at once, starts the others in order, and continues after a failure', async () => {
  const semaphore = createSemaphore(2)
  const begun: string[] = []
  const ends: ((error?: Error) => void)[] = []
  const work = (name: string) =>
    semaphore.run(() => {
      begun.push(name)
      return new Promise<string>((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve(name) : reject(error)))
      })
    })
  const results = ['a', 'b', 'c', 'd'].map(work)
  expect(begun).toEqual(['a', 'b'])
  expect([semaphore.active, semaphore.waiting]).toEqual([2, 2])
  ends[1]?.(new Error('failed'))
  await expect(results[1]).rejects.toThrow('failed')
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'c'])
  ends[0]?.()
  ends[2]?.()
  expect(await Promise.all([results[0], results[2]])).toEqual(['a', 'c'])
  await nextTurn()
  ends[3]?.()
  expect(await results[3]).toBe('d')
  expect([semaphore.active, semaphore.waiting]).toEqual([0, 0])
})
