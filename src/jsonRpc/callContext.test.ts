import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createCallContext } from './callContext.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('makes no timer for a call that does not use its signal', () => {
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

it('aborts when the time is over, counted from the start of the call', () => {
  const context = createCallContext({ timeoutMs: 1000 })
  vi.advanceTimersByTime(400)
  const { signal } = context
  vi.advanceTimersByTime(599)
  expect([signal.aborted, context.isOver()]).toEqual([false, false])
  vi.advanceTimersByTime(1)
  expect([signal.aborted, context.isOver()]).toEqual([true, true])
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})

it('aborts when the client goes away, with its reason', () => {
  const client = new AbortController()
  const context = createCallContext({ timeoutMs: 1000, clientDisconnected: () => client.signal })
  const { signal } = context
  client.abort('gone')
  expect([signal.aborted, signal.reason, context.isOver()]).toEqual([true, 'gone', true])
  expect(createCallContext({ timeoutMs: 1000, clientDisconnected: () => client.signal }).signal.aborted).toBe(true)
})

it('leaves nothing behind at its end', () => {
  const client = new AbortController()
  const context = createCallContext({ timeoutMs: 1000, clientDisconnected: () => client.signal })
  const { signal } = context
  context.end()
  expect(vi.getTimerCount()).toBe(0)
  client.abort()
  expect(signal.aborted).toBe(false)
})
