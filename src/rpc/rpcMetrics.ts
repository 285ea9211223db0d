import type { Registry } from 'prom-client'
import { sizeOf } from '../lib/jsonRpc/pieces.ts'
import type { CallContents } from '../lib/jsonRpc/server.ts'
import { createMetricMakers } from '../lib/metricMakers.ts'
import { jsonSize } from './jsonSize.ts'

export interface RpcMetrics {
  observe(method: string, durationMs: number, errorCode: number | undefined, contents: CallContents): void
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
  const paramsSize = counter('params_size_total', 'Total bytes of RPC params received', ['rpc', 'method'])
  const resultsSize = counter('results_size_total', 'Total bytes of RPC results sent back', ['rpc', 'method'])
  return {
    observe(method, durationMs, errorCode, { params, result }) {
      requests.inc({ rpc: 'main', method })
      responses.inc({ rpc: 'main', method, error: errorCode === undefined ? '<nil>' : `rpc_${errorCode}` })
      paramsSize.inc({ rpc: 'main', method }, params === undefined ? 0 : jsonSize(params))
      if (result !== undefined) resultsSize.inc({ rpc: 'main', method }, sizeOf(result))
      durations.observe({ rpc: 'main', method }, durationMs / 1000)
    },
  }
}
