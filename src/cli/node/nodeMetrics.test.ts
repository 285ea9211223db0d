import { collectDefaultMetrics, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createRpcClientMetrics } from '../../jsonRpc/clientMetrics.ts'
import { createP2pMetrics } from '../../p2p/metrics.ts'
import { createNodeMetrics } from '../../rollup/node/index.ts'
import { createRpcMetrics } from '../../rpc/index.ts'

it('the parts of a rollup node share one registry without name conflicts', async () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  createRpcClientMetrics(registry, 'op_node_default')
  createRpcMetrics(registry, 'op_node_default')
  createP2pMetrics(registry)
  createNodeMetrics(registry)
  expect(await registry.metrics()).toContain('op_node_default_sequencer_sealing_seconds')
})
