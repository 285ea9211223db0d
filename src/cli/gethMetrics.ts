import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Chain } from '../execution/chain/types.ts'
import type { RpcPool } from '../execution/rpc/index.ts'
import type { RpcDispatcherOptions } from '../lib/jsonRpc/server.ts'
import { RPC_METHOD_NOT_FOUND } from '../lib/jsonRpc/types.ts'

export interface GethMetrics {
  registry: Registry
  onCall: NonNullable<RpcDispatcherOptions['onCall']>
}

/** geth's names where it has the same figure (`chain_head_block`, `txpool_pending` …). Values are read when asked for. */
export function createGethMetrics(
  { chain, pool }: { chain: Pick<Chain, 'head' | 'safe' | 'finalized'>; pool: Pick<RpcPool, 'status'> },
  { version }: { version: string },
): GethMetrics {
  const registry = new Registry()
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  new Gauge({ name: 'devium_geth_info', help: 'Version', labelNames: ['version'], registers: [registry] }).set(
    { version },
    1,
  )
  gauge('chain_head_block', 'Number of the head block', () => chain.head().number)
  gauge('chain_head_timestamp_seconds', 'Unix time of the head block', () => chain.head().timestamp)
  gauge('chain_head_safe', 'Number of the safe block', () => chain.safe()?.number ?? 0)
  gauge('chain_head_finalized', 'Number of the finalized block', () => chain.finalized()?.number ?? 0)
  gauge('txpool_pending', 'Executable transactions in the pool', () => pool.status().pending)
  gauge('txpool_queued', 'Transactions in the pool behind a nonce gap', () => pool.status().queued)
  const durations = new Histogram({
    name: 'rpc_duration_seconds',
    help: 'Time to answer an RPC call',
    labelNames: ['method'],
    // From a cached value to a block that is executed.
    buckets: [0.0005, 0.002, 0.01, 0.05, 0.2, 1, 5],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'rpc_failure_total',
    help: 'RPC calls answered with an error',
    labelNames: ['method'],
    registers: [registry],
  })
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
