import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { CheapHistogram } from './cheapHistogram.ts'

const BUCKETS = [0.005, 0.1, 10]

it("is read as prom-client's own", async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const options = { name: 'seconds', help: 'how long', labelNames: ['method', 'rpc'] as const, buckets: BUCKETS }
  const cheap = new CheapHistogram({ ...options, registers: [ours] })
  const own = new Histogram({ ...options, registers: [theirs] })
  for (const method of ['one', 'other']) {
    const labels = { rpc: 'main', method }
    const add = cheap.begin(labels)
    for (const seconds of [0, 0.005, 0.006, 0.1, 9, 10, 11, 1000]) {
      add(seconds)
      own.observe(labels, seconds)
    }
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
})
