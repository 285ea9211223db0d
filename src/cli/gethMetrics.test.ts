import { expect, it } from 'vitest'
import { loadRecordedRpc, recordedBlock } from '../execution/testUtils/recordedRpc.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../lib/jsonRpc/types.ts'
import { createGethMetrics } from './gethMetrics.ts'

const head = recordedBlock(loadRecordedRpc('holocene-span-brotli-calldata'), 7).header

it('reads the chain when asked, and never makes a label of a made-up method', async () => {
  const chain = { head: () => head, safe: () => undefined, finalized: () => undefined }
  const pool = { status: () => ({ pending: 3, queued: 1 }) }
  const { registry, onCall } = createGethMetrics({ chain, pool }, { version: 'v1' })
  onCall('eth_call', 12, undefined)
  onCall('eth_call', 12, new JsonRpcError(3, 'execution reverted'))
  onCall('eth_madeUp', 1, new JsonRpcError(RPC_METHOD_NOT_FOUND, 'no'))
  const text = await registry.metrics()
  for (const line of [
    'chain_head_block 7',
    'chain_head_safe 0',
    'txpool_pending 3',
    'txpool_queued 1',
    'rpc_duration_seconds_count{method="eth_call"} 2',
    'rpc_failure_total{method="eth_call"} 1',
    'rpc_failure_total{method="unknown"} 1',
    'devium_geth_info{version="v1"} 1',
  ]) {
    expect(text).toContain(line)
  }
  expect(text).not.toContain('eth_madeUp')
})
