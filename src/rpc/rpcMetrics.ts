import type { Registry } from 'prom-client'
import { sizeOf } from '../jsonRpc/bodyChunks.ts'
import type { CallContents } from '../jsonRpc/server.ts'
import { createMetricMakers } from '../lib/metricMakers.ts'

export interface RpcMetrics {
  observe(method: string, durationMs: number, errorCode: number | undefined, contents: CallContents): void
}

/**
 * Plain counters, copied into the registry at each scrape. Updating a labelled metric costs as much as a small call.
 */
interface MethodCounts {
  requests: number
  /** Key: the error label. */
  responses: Map<string, number>
  paramsBytes: number
  /** Undefined until there is a result. */
  resultBytes: number | undefined
}

/**
 * op-node's metrics of its RPC server, for op-node's dashboards. The label `rpc` is `main`, as in op-node since 2026.
 */
export function createRpcMetrics(registry: Registry, prefix: string): RpcMetrics {
  const { sampled, histogram } = createMetricMakers(registry, `${prefix}_rpc_server_`)
  const labelNames = ['rpc', 'method'] as const
  const methods = new Map<string, MethodCounts>()
  const count = (name: string, help: string, read: (counts: MethodCounts) => number | undefined) =>
    sampled('counter', name, help, labelNames, () =>
      [...methods].flatMap(([method, counts]) => {
        const value = read(counts)
        return value === undefined ? [] : [{ labels: { rpc: 'main', method }, value }]
      }),
    )
  count('requests_total', 'Total requests to the RPC server', ({ requests }) => requests)
  sampled(
    'counter',
    'responses_total',
    'Total responses of the RPC server, by error code',
    [...labelNames, 'error'],
    () =>
      [...methods].flatMap(([method, { responses }]) =>
        [...responses].map(([error, value]) => ({ labels: { rpc: 'main', method, error }, value })),
      ),
  )
  count('params_size_total', 'Total bytes of RPC params received', ({ paramsBytes }) => paramsBytes)
  count('results_size_total', 'Total bytes of RPC results sent back', ({ resultBytes }) => resultBytes)
  const durations = histogram('request_duration_seconds', 'Duration of calls to the RPC server', { labelNames })
  return {
    observe(method, durationMs, errorCode, { params, result }) {
      let counts = methods.get(method)
      if (counts === undefined) {
        counts = { requests: 0, responses: new Map(), paramsBytes: 0, resultBytes: undefined }
        methods.set(method, counts)
      }
      const error = errorCode === undefined ? '<nil>' : `rpc_${errorCode}`
      counts.requests++
      counts.responses.set(error, (counts.responses.get(error) ?? 0) + 1)
      if (params !== undefined) counts.paramsBytes += Buffer.byteLength(JSON.stringify(params))
      if (result !== undefined) counts.resultBytes = (counts.resultBytes ?? 0) + sizeOf(result)
      durations.observe({ rpc: 'main', method }, durationMs / 1000)
    },
  }
}
