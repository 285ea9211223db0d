import { Counter, Histogram, type Registry } from 'prom-client'

export interface RpcMetrics {
  observe(method: string, durationMs: number, errorCode: number | undefined): void
}

/** op-node's metrics of its RPC server (label `rpc` is `main`, as since 2026), so that its dashboards work. */
export function createRpcMetrics(registry: Registry, prefix: string): RpcMetrics {
  const requests = new Counter({
    name: `${prefix}_rpc_server_requests_total`,
    help: 'Total requests to the RPC server',
    labelNames: ['rpc', 'method'],
    registers: [registry],
  })
  const responses = new Counter({
    name: `${prefix}_rpc_server_responses_total`,
    help: 'Total responses of the RPC server, by error code',
    labelNames: ['rpc', 'method', 'error'],
    registers: [registry],
  })
  const durations = new Histogram({
    name: `${prefix}_rpc_server_request_duration_seconds`,
    help: 'Duration of calls to the RPC server',
    labelNames: ['rpc', 'method'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return {
    observe(method, durationMs, errorCode) {
      requests.inc({ rpc: 'main', method })
      responses.inc({ rpc: 'main', method, error: errorCode === undefined ? '<nil>' : `rpc_${errorCode}` })
      durations.observe({ rpc: 'main', method }, durationMs / 1000)
    },
  }
}
