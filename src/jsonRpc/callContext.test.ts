import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createCallContext } from './callContext.ts'

// Not `setImmediate`: work of other files of this process may wait for it.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

it('starts no timer for a call that does not use its signal', () => {
  const clientDisconnected = vi.fn(() => new AbortController().signal)
  const context = createCallContext({ timeoutMs: 60_000, clientDisconnected })
  expect(vi.getTimerCount()).toBe(0)
  expect(clientDisconnected).not.toHaveBeenCalled()
  expect(context.isOver()).toBe(false)
  vi.advanceTimersByTime(60_000)
  expect(context.isOver()).toBe(true)
  // The signal respects the original deadline even if it is created late.
  const { signal } = context
  vi.advanceTimersByTime(0)
  expect(signal.aborted).toBe(true)
})

it('aborts at the time limit, counted from the start of the call', () => {
  const context = createCallContext({ timeoutMs: 1000 })
  vi.advanceTimersByTime(400)
  const { signal } = context
  vi.advanceTimersByTime(599)
  expect([signal.aborted, context.isOver()]).toEqual([false, false])
  vi.advanceTimersByTime(1)
  expect([signal.aborted, context.isOver()]).toEqual([true, true])
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})

it("aborts with the client's reason when the client disconnects", () => {
  const client = new AbortController()
  const context = createCallContext({ timeoutMs: 1000, clientDisconnected: () => client.signal })
  const { signal } = context
  client.abort('gone')
  expect([signal.aborted, signal.reason, context.isOver()]).toEqual([true, 'gone', true])
  expect(createCallContext({ timeoutMs: 1000, clientDisconnected: () => client.signal }).signal.aborted).toBe(true)
})

it('leaves no timer and no listener at its end', () => {
  const client = new AbortController()
  const context = createCallContext({ timeoutMs: 1000, clientDisconnected: () => client.signal })
  const { signal } = context
  context.end()
  expect(vi.getTimerCount()).toBe(0)
  client.abort()
  expect(signal.aborted).toBe(false)
})
