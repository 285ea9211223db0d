import type { Registry } from 'prom-client'
import { createMetricMakers } from '../lib/metricMakers.ts'
import type { RpcClientObserver } from './client.ts'

/** op-node's metrics of its RPC clients (2026). The label `rpc` distinguishes the clients: `l1`, `engine-api`. */
export function createRpcClientMetrics(registry: Registry, prefix: string): (rpc: string) => RpcClientObserver {
  const { counter, histogram } = createMetricMakers(registry, `${prefix}_rpc_client_`)
  const labels = ['rpc', 'method'] as const
  const requests = counter('requests_total', 'Total RPC requests initiated', labels)
  const responses = counter('responses_total', 'Total RPC responses received, by error code', [...labels, 'error'])
  const durations = histogram('request_duration_seconds', 'Duration of RPC requests', { labelNames: labels })
  const paramsSize = counter('params_size_total', 'Total bytes of RPC params sent', labels)
  const resultsSize = counter('results_size_total', 'Total bytes of RPC results received', labels)
  return (rpc) => ({
    onRequest(method, paramsBytes) {
      requests.inc({ rpc, method })
      paramsSize.inc({ rpc, method }, paramsBytes)
    },
    onEnd(method, seconds, answer) {
      durations.observe({ rpc, method }, seconds)
      if (answer === undefined) return
      const isError = 'errorCode' in answer
      responses.inc({ rpc, method, error: isError ? `rpc_${answer.errorCode}` : '<nil>' })
      if (!isError) resultsSize.inc({ rpc, method }, answer.resultBytes)
    },
  })
}
