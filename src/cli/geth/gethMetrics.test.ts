import { expect, it } from 'vitest'
import type { ExecutedBlock, HeadChange } from '../../execution/chain/types.ts'
import type { CallCounts } from '../../execution/rpcProcess/callCounts.ts'
import { loadRecordedRpc, recordedBlock } from '../../execution/testUtils/recordedRpc.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { ManualClock } from '../../lib/clock.ts'
import { createGethMetrics } from './gethMetrics.ts'

const head = recordedBlock(loadRecordedRpc('holocene-span-brotli-calldata'), 7).header

it('reads the chain at each scrape, and adds up the calls of RPC processes', async () => {
  let onHead: (change: HeadChange) => void = () => {}
  let onExecuted: (block: ExecutedBlock) => void = () => {}
  const chain = {
    head: () => head,
    safe: () => undefined,
    finalized: () => undefined,
    statistics: () => ({
      levels: [1, 2].map((level) => ({ level, tables: 1, sizeBytes: 9, seconds: 3, readBytes: 500, writtenBytes: 70 })),
      state: { nodeBytes: 5_000, codeBytes: 600, nodeReads: 12, readBytes: 3_400 },
    }),
    onHead(listener: typeof onHead) {
      onHead = listener
      return () => {}
    },
    onExecuted(listener: typeof onExecuted) {
      onExecuted = listener
      return () => {}
    },
  }
  const pool = { status: () => ({ pending: 3, queued: 1 }) }
  const reported = (): CallCounts => ({
    eth_gasPrice: { outcomes: { failure: 2 }, seconds: 1, durations: [0, 0, 0, 0, 0, 2, 0, 0] },
    eth_sendRawTransaction: { outcomes: { underpriced: 2 }, seconds: 18, durations: [0, 0, 0, 0, 0, 0, 0, 2] },
  })
  const rpcProcesses = {
    stats: () => ({ processes: 2, connections: 9, broken: 1 }),
    report: async () => ({ calls: reported(), running: 2, waiting: 5, webSockets: 3 }),
  }
  const clock = new ManualClock((head.timestamp + 4) * 1000)
  const options = { version: 'v1', databasePath: import.meta.dirname }
  const { onCall, scrape } = createGethMetrics({ chain, pool, rpcProcesses, clock }, options)
  onHead({
    head,
    removed: [head],
    added: [
      { ...head, gasUsed: 30_000n },
      { ...head, gasUsed: 12_000n },
    ],
  })
  onExecuted({ gasUsed: 3_000_000n, durationMs: 150 })
  // A cached result.
  onCall('engine_newPayloadV4', 0.1, undefined)
  onCall('eth_sendRawTransaction', 1, undefined)
  for (const text of ['already known', 'txpool is full', 'nonce too low: address 0x12']) {
    onCall('eth_sendRawTransaction', 1, new JsonRpcError(-32000, text))
  }
  onCall('eth_call', 12, undefined)
  onCall('eth_call', 12, new JsonRpcError(3, 'execution reverted'))
  onCall('engine_getPayloadV4', 8, undefined)
  const text = await scrape()
  for (const line of [
    'chain_head_block 7',
    'chain_head_safe 0',
    'txpool_pending 3',
    'txpool_queued 1',
    '# TYPE rpc_duration_seconds histogram',
    'rpc_duration_seconds_count{method="eth_call"} 2',
    'rpc_duration_seconds_bucket{le="0.01",method="eth_call"} 0',
    'rpc_duration_seconds_bucket{le="0.05",method="eth_call"} 2',
    'rpc_duration_seconds_bucket{le="5",method="eth_sendRawTransaction"} 4',
    'rpc_duration_seconds_bucket{le="+Inf",method="eth_sendRawTransaction"} 6',
    'rpc_duration_seconds_sum{method="eth_gasPrice"} 1',
    'txpool_underpriced 2',
    'rpc_failure_total{method="eth_call"} 1',
    'devium_geth_info{version="v1"} 1',
    'chain_head_age_seconds 4',
    'chain_blocks_total 2',
    'chain_gas_used_total 42000',
    'chain_reorg_executes 1',
    'chain_reorg_drop 1',
    'chain_reorg_add 2',
    'chain_inserts_count 1',
    'chain_mgasps 20',
    'txpool_valid 1',
    'txpool_known 1',
    'txpool_overflowed 1',
    'txpool_invalid 1',
    'rpc_calls_waiting 5',
    'rpc_processes 2',
    'rpc_connections 9',
    'rpc_processes_broken 1',
    'rpc_failure_total{method="eth_gasPrice"} 2',
    'rpc_requests 12',
    'rpc_success 4',
    'eth_db_chaindata_compact_input 1000',
    'eth_db_chaindata_compact_output 140',
    'eth_db_chaindata_compact_time 6000000000',
    'hashdb_memcache_clean_miss 12',
    'hashdb_memcache_clean_read 3400',
    'state_cache_node_bytes 5000',
    'state_cache_code_bytes 600',
    'miner_build_seconds_count 1',
    'rpc_websockets 3',
    'rpc_failure 8',
  ]) {
    expect(text).toContain(line)
  }
  expect(text).toMatch(/^eth_db_chaindata_disk_size [1-9]\d{4,}$/m)
  const again = await scrape()
  expect(again).toContain('rpc_failure_total{method="eth_gasPrice"} 4')
  expect(again).toContain('rpc_failure_total{method="eth_call"} 1')
})
