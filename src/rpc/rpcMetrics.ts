import { Counter, Histogram, type Registry } from 'prom-client'
import { sizeOf } from '../jsonRpc/bodyChunks.ts'
import type { CallContents } from '../jsonRpc/server.ts'
import { jsonSize } from './jsonSize.ts'

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

/** The default buckets of prom-client and of Go's client. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * op-node's metrics of its RPC server, for op-node's dashboards. The label `rpc` is `main`, as in op-node since 2026.
 */
export function createRpcMetrics(registry: Registry, prefix: string): RpcMetrics {
  const methods = new Map<string, MethodCounts>()
  const name = (metric: string) => `${prefix}_rpc_server_${metric}`
  const count = (metric: string, help: string, read: (counts: MethodCounts) => number | undefined) =>
    new Counter({
      name: name(metric),
      help,
      labelNames: ['rpc', 'method'],
      registers: [registry],
      collect() {
        this.reset()
        for (const [method, counts] of methods) {
          const amount = read(counts)
          if (amount !== undefined) this.inc({ rpc: 'main', method }, amount)
        }
      },
    })
  count('requests_total', 'Total requests to the RPC server', ({ requests }) => requests)
  new Counter({
    name: name('responses_total'),
    help: 'Total responses of the RPC server, by error code',
    labelNames: ['rpc', 'method', 'error'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [method, { responses }] of methods) {
        for (const [error, amount] of responses) this.inc({ rpc: 'main', method, error }, amount)
      }
    },
  })
  count('params_size_total', 'Total bytes of RPC params received', ({ paramsBytes }) => paramsBytes)
  count('results_size_total', 'Total bytes of RPC results sent back', ({ resultBytes }) => resultBytes)
  const durations = new Histogram({
    name: name('request_duration_seconds'),
    help: 'Duration of calls to the RPC server',
    labelNames: ['rpc', 'method'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  })
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
      if (params !== undefined) counts.paramsBytes += jsonSize(params)
      if (result !== undefined) counts.resultBytes = (counts.resultBytes ?? 0) + sizeOf(result)
      durations.observe({ rpc: 'main', method }, durationMs / 1000)
    },
  }
}
