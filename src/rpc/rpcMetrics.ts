import type { Registry } from 'prom-client'
import { createMetricMakers } from '../lib/metricMakers.ts'

export interface RpcMetrics {
  observe(method: string, durationMs: number, errorCode: number | undefined): void
}

/** op-node's metrics of its RPC server (label `rpc` is `main`, as since 2026), so that its dashboards work. */
export function createRpcMetrics(registry: Registry, prefix: string): RpcMetrics {
  const { counter, histogram } = createMetricMakers(registry, `${prefix}_rpc_server_`)
  const requests = counter('requests_total', 'Total requests to the RPC server', ['rpc', 'method'])
  const responses = counter('responses_total', 'Total responses of the RPC server, by error code', [
    'rpc',
    'method',
    'error',
  ])
  const durations = histogram('request_duration_seconds', 'Duration of calls to the RPC server', {
    labelNames: ['rpc', 'method'],
  })
  return {
    observe(method, durationMs, errorCode) {
      requests.inc({ rpc: 'main', method })
      responses.inc({ rpc: 'main', method, error: errorCode === undefined ? '<nil>' : `rpc_${errorCode}` })
      durations.observe({ rpc: 'main', method }, durationMs / 1000)
    },
  }
}
