import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import { WakeUp } from './wakeUp.ts'

describe('WakeUp', () => {
  it('keeps one wake-up while no task waits', async () => {
    const clock = new ManualClock()
    const wakeUp = new WakeUp(clock)
    const { signal } = new AbortController()
    wakeUp.wake()
    wakeUp.wake()
    await wakeUp.wait(signal)
    let isOver = false
    const second = wakeUp.wait(signal, 100).then(() => {
      isOver = true
    })
    await clock.advance(99)
    expect(isOver).toBe(false)
    await clock.advance(1)
    await second
    expect(isOver).toBe(true)
  })

  it('ends a wait by wake and by abort', async () => {
    const wakeUp = new WakeUp(new ManualClock())
    const controller = new AbortController()
    const woken = wakeUp.wait(controller.signal)
    wakeUp.wake()
    await woken
    const aborted = wakeUp.wait(controller.signal)
    controller.abort()
    await aborted
    await wakeUp.wait(controller.signal)
  })
})
