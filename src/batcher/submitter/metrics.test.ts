import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createBatcherMetrics } from './metrics.ts'
import { watchBalance } from './watchBalance.ts'

async function textAfter(act: (metrics: ReturnType<typeof createBatcherMetrics>) => void): Promise<string> {
  const registry = new Registry()
  act(createBatcherMetrics(registry))
  return registry.metrics()
}

it('counts how full the last blob of each transaction is', async () => {
  const text = await textAfter((metrics) => {
    metrics.txSubmitted(undefined)
    metrics.txSubmitted(5_000)
    metrics.txSubmitted(130_000)
  })
  expect(text).toContain('op_batcher_default_blob_used_bytes_bucket{le="10003"} 1')
  expect(text).toContain('op_batcher_default_blob_used_bytes_bucket{le="130039"} 2')
  expect(text).toContain('op_batcher_default_batcher_tx_total{stage="submitted"} 3')
})

it('shows only the throttle controller in use', async () => {
  const limits = { intensity: 0.5, maxTxBytes: 1, maxBlockBytes: 2 }
  const text = await textAfter((metrics) => {
    metrics.throttle('linear', limits, 1.5, { error: 4, integral: 5, derivative: 6 })
    metrics.throttle('step', limits, 2.5, { error: 7, integral: 8, derivative: 9 })
  })
  for (const [term, value] of Object.entries({ error: 7, integral: 8, derivative: 9 }))
    expect(text).toContain(`op_batcher_default_pid_controller_${term} ${value}`)
  for (const [name, value] of [
    ['throttle_controller_type', 1],
    ['throttle_intensity', 0.5],
    ['unsafe_bytes_ratio', 2.5],
  ]) {
    expect(text).toContain(`op_batcher_default_${name}{type="step"} ${value}`)
    expect(text).toContain(`op_batcher_default_${name}{type="linear"} 0`)
  }
})

it('shows the figures of the newest channel manager at each scrape', async () => {
  const held = { pendingBlockCount: 1, heldSizeBytes: 2, pendingDaBytes: 3, unsafeDaBytes: 4, channels: [0, 0] }
  const text = await textAfter((metrics) => {
    metrics.watchHeld({ ...held, heldSizeBytes: 99 })
    metrics.watchHeld(held)
    held.pendingBlockCount = 7
  })
  expect(text).toContain('op_batcher_default_pending_blocks_count{stage="added"} 7')
  expect(text).toContain('op_batcher_default_pending_blocks_bytes_current 2')
  expect(text).toContain('op_batcher_default_pending_da_bytes 3')
  expect(text).toContain('op_batcher_default_unsafe_da_bytes 4')
  expect(text).toContain('op_batcher_default_channel_queue_length 2')
})

it('shows the last balance while the L1 does not answer, and none before its first answer', async () => {
  const clock = new ManualClock()
  const registry = new Registry()
  const metrics = createBatcherMetrics(registry)
  const requests: PromiseWithResolvers<bigint>[] = []
  const balance = () => {
    const request = Promise.withResolvers<bigint>()
    requests.push(request)
    return request.promise
  }
  const shown = async () => /^op_batcher_default_balance (.*)$/m.exec(await registry.metrics())?.[1]
  const ending = new AbortController()
  const watching = watchBalance({ l1: { balance }, clock, metrics }, `0x${'33'.repeat(20)}`, ending.signal)
  expect(await shown()).toBeUndefined()
  requests[0]?.resolve(2_500_000_000_000_000_000n)
  await clock.advance(0)
  await clock.advance(9_999)
  expect(requests).toHaveLength(1)
  expect(await shown()).toBe('2.5')

  await clock.advance(1)
  expect(await shown()).toBe('2.5')
  requests[1]?.reject(new Error('no answer'))
  await clock.advance(0)
  await clock.advance(10_000)
  expect(await shown()).toBe('2.5')
  requests[2]?.resolve(1_000_000_000_000_000_000n)
  await clock.advance(0)
  expect(await shown()).toBe('1')
  ending.abort()
  await watching
  expect(requests).toHaveLength(3)
})
