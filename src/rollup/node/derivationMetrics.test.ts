import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createCacheMetrics } from '../../lib/cacheMetrics.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { fakeHash, l1Ref, l2Ref } from '../derive/testUtils/config.ts'
import { createDerivationMetrics } from './derivationMetrics.ts'
import { createNodeMetrics } from './metrics.ts'

const channel = { id: '0xab', openBlock: 1, lastBlock: 51, frames: 1, bytes: 5, expectedFrames: undefined } as const

/** All derivation metrics, after each event has occurred once. */
async function served() {
  const registry = new Registry()
  const node = createNodeMetrics(registry)
  const emit = createDerivationMetrics(registry)
  const watch = {
    l1: createCacheMetrics(registry, 'op_node_default_l1_source_cache'),
    l2: createCacheMetrics(registry, 'op_node_default_l2_source_cache'),
  }
  const caches = { l1: new LruMap<string, number>(1), l2: new LruMap<string, number>(1) }
  watch.l1('receipts', caches.l1)
  watch.l2('payloads', caches.l2)
  caches.l1.set('a', 1)
  caches.l1.set('b', 1)
  caches.l1.get('b')
  caches.l1.get('c')
  node.l1Ref('l1_derived', l1Ref(7))
  node.l2Ref('l2_safe', l2Ref(9, 5, 2))
  node.unsafeQueue(1, 100, { number: 12, hash: fakeHash('x', 12) })
  node.l1Reorg(3)
  node.pipelineReset()
  node.derivationError()
  emit({ kind: 'channel-first', channel: '0xab' })
  emit({ kind: 'frame-added', l1Block: 1, channel, frame: 0 })
  emit({ kind: 'channel-gone', l1Block: 52, channel: '0xab', how: 'timed-out' })
  emit({ kind: 'channel-gone', l1Block: 52, channel: '0xab', how: 'read' })
  emit({ kind: 'channel-read', l1Block: 1, bytes: 1234 })
  emit({ kind: 'batch-read', l1Block: 1, type: 'span' })
  emit({ kind: 'batch-read', l1Block: 1, type: 'span' })
  emit({ kind: 'batch-read', l1Block: 1, type: 'singular' })
  emit({ kind: 'batch-dropped', l1Block: 1, type: 'singular', reason: 'x', losesChannel: true })
  emit({ kind: 'empty-batch', l1Block: 1, timestamp: 1 })
  return (await registry.metrics()).replaceAll('op_node_default_', '')
}

describe('metrics of derivation', () => {
  // op-node v1.19's names and labels.
  it.each([
    'head_channel_total 1',
    'last_head_channel_unix \\d{10}',
    'channel_timeout_total 1',
    'last_channel_timeout_unix \\d{10}',
    'frame_added_total 1',
    'last_frame_added_unix \\d{10}',
    'channel_input_bytes 1234',
    'derived_batches_total\\{type="span"\\} 2',
    'derived_batches_total\\{type="singular"\\} 1',
    'last_derived_batches_unix\\{type="span"\\} \\d{10}',
    'pipeline_resets_total 1',
    'last_pipeline_resets_unix \\d{10}',
    'derivation_errors_total 1',
    'last_derivation_errors_unix \\d{10}',
    'derivation_idle 0',
    'l1_reorg_depth_bucket\\{le="2.5"\\} 0',
    'l1_reorg_depth_bucket\\{le="3.5"\\} 1',
    'refs_number\\{layer="l1",type="l1_derived"\\} 7',
    'refs_number\\{layer="l2",type="l2_safe"\\} 9',
    'refs_number\\{layer="l1_origin",type="l2_safe"\\} 5',
    'refs_number\\{layer="l2",type="l2_buffer_unsafe"\\} 12',
    'refs_time\\{layer="l2",type="l2_safe"\\} \\d+',
    'refs_latency\\{layer="l2",type="l2_safe"\\} -[\\d.]+',
    'refs_hash\\{layer="l2",type="l2_safe"\\} [\\d.e+]+',
    'refs_seqnr\\{layer="l2",type="l2_safe"\\} 2',
    'events_emitted\\{event_type="channel-gone",emitter="pipeline"\\} 2',
    'events_processed\\{event_type="channel-gone",deriver="metrics"\\} 2',
    'events_process_time\\{event_type="channel-gone",deriver="metrics"\\} [\\d.e-]+',
    'events_rate_limited_total 0',
    'l1_source_cache_size\\{type="receipts"\\} 1',
    'l1_source_cache_get\\{type="receipts",hit="true"\\} 1',
    'l1_source_cache_get\\{type="receipts",hit="false"\\} 1',
    'l1_source_cache_add\\{type="receipts",evicted="true"\\} 1',
    'l2_source_cache_size\\{type="payloads"\\} 0',
    'dropped_batches_total\\{type="singular"\\} 1',
    'empty_batches_total 1',
  ])('%s', async (line) => {
    expect(await served()).toMatch(new RegExp(`^${line}$`, 'm'))
  })

  it('continue to count between scrapes', async () => {
    const registry = new Registry()
    const emit = createDerivationMetrics(registry)
    emit({ kind: 'batch-read', l1Block: 1, type: 'span' })
    await registry.metrics()
    emit({ kind: 'batch-read', l1Block: 1, type: 'span' })
    expect(await registry.metrics()).toContain('derived_batches_total{type="span"} 2')
  })
})
