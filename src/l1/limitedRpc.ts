import type { RpcCall, RpcClient } from '../jsonRpc/client.ts'
import type { JsonRpcError, JsonValue } from '../jsonRpc/types.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import { TokenBucket } from '../lib/tokenBucket.ts'

export interface RpcLimits {
  /** Concurrent HTTP requests (`--l1.max-concurrency`). */
  maxConcurrency: number
  /** Calls per second, counting each call of a batch; 0 = no limit (`--l1.rpc-rate-limit`). */
  rateLimitPerSecond: number
  /** Calls in one HTTP request, and the burst of the rate limit (`--l1.rpc-max-batch-size`). */
  maxBatchSize: number
}

/** The methods of a transport that the L1 client uses. */
export type LimitedRpc = Pick<RpcClient, 'request' | 'batch'>

/** op-node's time limits for a call and for a batch. */
const CALL_TIMEOUT_MS = 10_000
const BATCH_TIMEOUT_MS = 20_000

/** Enforces the limits of an endpoint: concurrent requests, calls per second, and calls in a batch. */
export function createLimitedRpc(rpc: LimitedRpc, clock: Clock, limits: RpcLimits): LimitedRpc {
  const semaphore = createSemaphore(limits.maxConcurrency)
  const { rateLimitPerSecond: perSecond, maxBatchSize: burst } = limits
  const bucket = perSecond > 0 ? new TokenBucket(clock, { perSecond, burst }) : undefined

  const run = async <T>(calls: number, operation: () => Promise<T>): Promise<T> => {
    // A caller that takes more tokens than available waits. Later callers then wait for these tokens as well.
    const waitMs = bucket?.take(calls) ?? 0
    if (waitMs > 0) await sleep(clock, waitMs)
    return semaphore.run(operation)
  }

  return {
    request: (method, params, options) =>
      run(1, () => rpc.request(method, params, { timeoutMs: CALL_TIMEOUT_MS, ...options })),
    async batch(calls, options) {
      const chunks: RpcCall[][] = []
      for (let i = 0; i < calls.length; i += limits.maxBatchSize) chunks.push(calls.slice(i, i + limits.maxBatchSize))
      const answers: (JsonValue | JsonRpcError)[][] = await Promise.all(
        chunks.map((chunk) => run(chunk.length, () => rpc.batch(chunk, { timeoutMs: BATCH_TIMEOUT_MS, ...options }))),
      )
      return answers.flat()
    },
  }
}
