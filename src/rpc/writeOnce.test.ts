import { expect, it } from 'vitest'
import { writeOnce } from './writeOnce.ts'

it('writes again when a member was replaced, added or removed', () => {
  interface Status {
    head: object
    target?: object
  }
  let times = 0
  const write = writeOnce((status: Status) => {
    times++
    return status
  })
  const text = (status: Status) => write(status).chunks.join('')
  const head = { number: 1 }
  const status: Status = { head }
  expect([text(status), text({ head }), times]).toEqual(['{"head":{"number":1}}', '{"head":{"number":1}}', 1])
  // The same object may have been modified.
  status.head = { number: 2 }
  expect([text(status), times]).toEqual(['{"head":{"number":2}}', 2])
  expect([text({ head, target: head }), times]).toEqual(['{"head":{"number":1},"target":{"number":1}}', 3])
  expect([text({ head }), times]).toEqual(['{"head":{"number":1}}', 4])
})
