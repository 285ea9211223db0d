import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { type ChoiceEvent, createEndpointChoice } from './endpointChoice.ts'

function start(count: number) {
  const clock = new ManualClock()
  const events: ChoiceEvent[] = []
  const urls = Array.from({ length: count }, (_, index) => `http://${index}`)
  const choice = createEndpointChoice(urls, { clock, onChange: (event) => events.push(event) })
  return { choice, clock, events }
}

it('leaves an endpoint after two consecutive failures', () => {
  const { choice, events } = start(3)
  choice.failed(0, 'down')
  choice.worked(0)
  choice.failed(0, 'down')
  expect(choice.order()).toEqual([0, 1, 2])
  choice.failed(0, 'down')
  expect(events).toEqual([{ kind: 'left', from: 0, to: 1, why: 'down' }])
  expect(choice.order()).toEqual([1, 2, 0])
  expect(choice.states()).toEqual([
    { url: 'http://0', active: false, problem: { message: 'down', sinceMs: 0 } },
    { url: 'http://1', active: true },
    { url: 'http://2', active: false },
  ])
})

it('counts concurrent failures as one', async () => {
  const { choice, clock } = start(2)
  for (let i = 0; i < 200; i++) choice.failed(0, 'down')
  await clock.advance(11_000)
  choice.foundHealthy(0)
  choice.foundHealthy(0)
  expect(choice.active).toBe(0)
})

it('leaves an endpoint with false answers at once and for longer, and returns after two good checks', async () => {
  const { choice, clock, events } = start(2)
  choice.sentBadData(0, 'wrong hash')
  expect(choice.active).toBe(1)
  for (let i = 0; i < 4; i++) choice.foundHealthy(0)
  expect(choice.active).toBe(1)
  await clock.advance(300_000)
  choice.foundHealthy(0)
  choice.failed(0, 'down')
  choice.foundHealthy(0)
  expect(choice.active).toBe(1)
  choice.foundHealthy(0)
  expect(choice.active).toBe(0)
  expect(events.map(({ kind }) => kind)).toEqual(['left', 'returned'])
})

it('does not switch to a healthy endpoint that is listed later', () => {
  const { choice } = start(2)
  for (let i = 0; i < 4; i++) choice.foundHealthy(1)
  expect(choice.active).toBe(0)
})

it('stays at the only endpoint', async () => {
  const { choice, clock, events } = start(2)
  choice.sentBadData(1, 'wrong hash')
  choice.lags(0, 'old head')
  expect(choice.active).toBe(0)
  expect(choice.order()).toEqual([0, 1])
  expect(events).toEqual([])
  await clock.advance(300_000)
  choice.failed(0, 'down')
  choice.failed(0, 'down')
  expect(choice.active).toBe(1)
})

it('never uses an excluded endpoint', () => {
  const { choice } = start(3)
  choice.exclude(0, 'of another chain')
  choice.exclude(2, 'silent')
  expect(choice.order()).toEqual([1])
  choice.sentBadData(1, 'wrong hash')
  expect(choice.order()).toEqual([1])
  choice.include(2)
  choice.sentBadData(1, 'wrong hash')
  expect(choice.order()).toEqual([2, 1])
})
