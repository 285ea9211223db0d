import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createMetricMakers } from './metricMakers.ts'

it('reads watched values at each scrape, and removes a label that is no longer reported', async () => {
  const registry = new Registry()
  const { watched, watchedByLabel } = createMetricMakers(registry, 'x_')
  let size = 1
  let counts: Record<string, number> = { a: 5 }
  watched('size', 'Size', () => size)
  watchedByLabel('counter', 'events_total', 'Events', 'type', () => counts)
  watchedByLabel('gauge', 'state', 'State', 'name', () => counts)
  await registry.metrics()
  size = 2
  counts = { a: 7, b: 0 }
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([
    'x_size 2',
    'x_events_total{type="a"} 7',
    'x_events_total{type="b"} 0',
    'x_state{name="a"} 7',
    'x_state{name="b"} 0',
  ])
  counts = { b: 1 }
  expect(await registry.metrics()).not.toContain('"a"')
})

it("uses the default buckets of Go's client for a histogram", async () => {
  const registry = new Registry()
  const { histogram } = createMetricMakers(registry, '')
  histogram('seconds', 'Time').observe(0.3)
  histogram('ratio', 'Ratio', { buckets: [0.5] }).observe(0.3)
  const text = await registry.metrics()
  expect([...text.matchAll(/seconds_bucket\{le="([^"]+)"/g)].map((match) => match[1])).toEqual([
    '0.005',
    '0.01',
    '0.025',
    '0.05',
    '0.1',
    '0.25',
    '0.5',
    '1',
    '2.5',
    '5',
    '10',
    '+Inf',
  ])
  expect(text).toContain('ratio_bucket{le="0.5"} 1')
})
