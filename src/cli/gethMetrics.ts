import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Chain } from '../execution/chain/types.ts'
import type { RpcPool } from '../execution/rpc/index.ts'
import { type JsonRpcError, RPC_METHOD_NOT_FOUND } from '../lib/jsonRpc/types.ts'
import { createMetricMakers } from '../lib/metricMakers.ts'

export interface GethMetrics {
  registry: Registry
  onCall(method: string, durationMs: number, error: JsonRpcError | undefined): void
}

/** geth's names where it has the same figure (`chain_head_block`, `txpool_pending` …). Values are read when asked for. */
export function createGethMetrics(
  { chain, pool }: { chain: Pick<Chain, 'head' | 'safe' | 'finalized'>; pool: Pick<RpcPool, 'status'> },
  { version }: { version: string },
): GethMetrics {
  const registry = new Registry()
  const { gauge, counter, histogram, watched } = createMetricMakers(registry, '')
  gauge('devium_geth_info', 'Version', ['version']).set({ version }, 1)
  watched('chain_head_block', 'Number of the head block', () => chain.head().number)
  watched('chain_head_timestamp_seconds', 'Unix time of the head block', () => chain.head().timestamp)
  watched('chain_head_safe', 'Number of the safe block', () => chain.safe()?.number ?? 0)
  watched('chain_head_finalized', 'Number of the finalized block', () => chain.finalized()?.number ?? 0)
  watched('txpool_pending', 'Executable transactions in the pool', () => pool.status().pending)
  watched('txpool_queued', 'Transactions in the pool behind a nonce gap', () => pool.status().queued)
  const durations = histogram('rpc_duration_seconds', 'Time to answer an RPC call', {
    labelNames: ['method'],
    // From a cached value to a block that is executed.
    buckets: [0.0005, 0.002, 0.01, 0.05, 0.2, 1, 5],
  })
  const failures = counter('rpc_failure_total', 'RPC calls answered with an error', ['method'])
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    onCall(method, durationMs, error) {
      // Names that callers make up must not become labels.
      const label = error?.rpcCode === RPC_METHOD_NOT_FOUND ? 'unknown' : method
      durations.observe({ method: label }, durationMs / 1000)
      if (error !== undefined) failures.inc({ method: label })
    },
  }
}
