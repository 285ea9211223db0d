import type { Registry } from 'prom-client'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import type { DerivationEvent, DerivationListener } from '../derive/index.ts'

/** op-node's event labels: the emitter of the events, and the component that processes them. */
const EMITTER = 'pipeline'
const DERIVER = 'metrics'

/** op-node's metrics of derivation, computed from the events of the stages. */
export function createDerivationMetrics(registry: Registry): DerivationListener {
  const { event: eventMetric, eventByLabel, gauge, sampled } = createMetricMakers(registry, 'op_node_default_')
  let inputBytes = 0
  const events = new Map<string, { count: number; seconds: number }>()
  const rows = (label: 'emitter' | 'deriver', who: string, value: (of: { count: number; seconds: number }) => number) =>
    [...events].map(([type, of]) => ({ labels: { event_type: type, [label]: who }, value: value(of) }))
  const channelFirst = eventMetric('head_channel', 'Channels that became the first in the queue')
  const channelTimedOut = eventMetric('channel_timeout', 'Channels that timed out')
  const frameAdded = eventMetric('frame_added', 'Frames that were added to a channel')
  const derivedBatches = eventByLabel('derived_batches', 'Batches that were read', 'type')
  const droppedBatches = eventByLabel('dropped_batches', 'Batches that violate a rule', 'type')
  const emptyBatches = eventMetric('empty_batches', 'Empty blocks that replaced batches that did not arrive in time')
  sampled('counter', 'channel_input_bytes', 'Compressed bytes of channels that were read', [], () => [
    { value: inputBytes },
  ])
  sampled('counter', 'events_emitted', 'Events that were emitted', ['event_type', 'emitter'], () =>
    rows('emitter', EMITTER, ({ count }) => count),
  )
  sampled('counter', 'events_processed', 'Events that were processed', ['event_type', 'deriver'], () =>
    rows('deriver', DERIVER, ({ count }) => count),
  )
  sampled('counter', 'events_process_time', 'Seconds that processing events took', ['event_type', 'deriver'], () =>
    rows('deriver', DERIVER, ({ seconds }) => seconds),
  )
  // Our events have no rate limit. These metrics exist for op-node's dashboards and stay 0.
  sampled('counter', 'events_rate_limited_total', 'Events that were delayed by a rate limit', [], () => [])
  gauge('events_last_rate_limited_unix', 'Never')

  const count = (event: DerivationEvent): void => {
    switch (event.kind) {
      case 'channel-first':
        channelFirst()
        break
      case 'channel-gone':
        if (event.how === 'timed-out') channelTimedOut()
        break
      case 'frame-added':
        frameAdded()
        break
      case 'channel-read':
        inputBytes += event.bytes
        break
      case 'batch-read':
        derivedBatches(event.type)
        break
      case 'batch-dropped':
        droppedBatches(event.type)
        break
      case 'empty-batch':
        emptyBatches()
        break
    }
  }

  return (event) => {
    const startMs = performance.now()
    count(event)
    const seconds = (performance.now() - startMs) / 1000
    const known = events.get(event.kind)
    if (known === undefined) events.set(event.kind, { count: 1, seconds })
    else {
      known.count++
      known.seconds += seconds
    }
  }
}
