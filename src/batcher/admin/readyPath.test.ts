import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { addReadyPath } from './readyPath.ts'
import type { BatcherStatus } from './status.ts'

const RUNNING: BatcherStatus = {
  running: true,
  stopping: false,
  from: `0x${'33'.repeat(20)}`,
  waitsFor: undefined,
  loadError: undefined,
  safe: 9,
  unsafe: 9,
  lastLoaded: undefined,
  firstUnsaved: undefined,
  pendingBlocks: 0,
  heldBytes: 0,
  unsafeDaBytes: 0,
  openChannel: undefined,
  channelsToConfirm: 0,
  l1Head: 70,
  l1: { lastAnswerMs: 1, error: undefined },
  rollupNode: { lastAnswerMs: 1, error: undefined },
  inFlight: [],
  cancelling: undefined,
  craftProblem: undefined,
  sendError: undefined,
  lastHour: { transactions: 0, bytes: 0, costGwei: 0 },
  throttling: false,
}
const UNUSABLE = { lastAnswerMs: 1, error: 'connection refused' }

it.each([
  { id: 'a submitter with nothing to post', status: RUNNING, expected: { status: 200, ready: true } },
  { id: 'a stopped submitter', status: { ...RUNNING, running: false }, expected: { status: 503, ready: false } },
  { id: 'a submitter without L1', status: { ...RUNNING, l1: UNUSABLE }, expected: { status: 503, ready: false } },
])('/readyz answers $expected.status for $id', async ({ status, expected }) => {
  const app = new Hono()
  addReadyPath(app, { batcher: { status }, nowMs: () => 1 })
  const response = await app.request('/readyz')
  expect(response.status).toBe(expected.status)
  expect(await response.json()).toEqual({ ready: expected.ready, why: expect.stringMatching(/\w/) })
})
