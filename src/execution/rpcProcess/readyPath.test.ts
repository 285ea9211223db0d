import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { addReadyPath } from './readyPath.ts'

it.each([
  { id: 'a fresh head', nowS: 100, status: 200, answer: { ready: true, reasons: [], head: 7, headAgeS: 0 } },
  { id: 'a head at the limit', nowS: 160, status: 200, answer: { ready: true, headAgeS: 60 } },
  { id: 'a head in the future', nowS: 90, status: 200, answer: { ready: true, headAgeS: -10 } },
  {
    id: 'a head above the limit',
    nowS: 161,
    status: 503,
    answer: { ready: false, reasons: ['The head 7 is 61 s old, more than 60 s.'] },
  },
])('/readyz answers $status for $id', async ({ nowS, status, answer }) => {
  const app = new Hono()
  addReadyPath(app, { head: () => ({ number: 7, timestamp: 100 }), nowS: () => nowS }, { maxHeadAgeS: 60 })
  const response = await app.request('/readyz')
  expect(response.status).toBe(status)
  expect(await response.json()).toMatchObject(answer)
})
