import { expect, it } from 'vitest'
import { oneByOne } from '../dashboard/oneByOne.ts'
import { nextTurn } from '../src/lib/nextTurn.ts'

it('a request of the page waits for the answer to the one before, also after a failure', async () => {
  const answers: PromiseWithResolvers<void>[] = []
  const request = oneByOne(() => {
    const answer = Promise.withResolvers<void>()
    answers.push(answer)
    return answer.promise
  })
  const first = request()
  const second = request()
  await nextTurn()
  expect(answers).toHaveLength(1)
  answers[0]?.reject(new Error('the connection is lost'))
  await expect(first).rejects.toThrow('lost')
  await nextTurn()
  expect(answers).toHaveLength(2)
  answers[1]?.resolve()
  await second
})
