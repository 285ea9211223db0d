import { RpcTransportError } from '../../jsonRpc/client.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { BUSY_TIMEOUT_MS, isBusyStatus, STARTING_TIMEOUT_MS } from '../../lib/httpStatus.ts'
import type { Logger } from '../../lib/logger.ts'
import { retry } from '../../lib/retry.ts'

export interface Endpoint {
  /** The operator's name for the endpoint: `L1`, `the L2 engine`. */
  name: string
  flagName: string
  /** Without secrets. */
  url: string
}

const RETRY_MS = 250
/** "Limit exceeded" of EIP-1474, and the code that some services use instead. */
const LIMIT_EXCEEDED = new Set([-32_005, 429])

/** Runs `operation` until the endpoint answers. Throws UsageError when it does not in time. */
export async function waitForEndpoint<T>(
  endpoint: Endpoint,
  operation: () => Promise<T>,
  { clock, logger, signal }: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<T> {
  const startedAt = clock.now()
  try {
    return await retry(operation, {
      clock,
      signal,
      backoff: () => RETRY_MS,
      shouldRetry: (error) => clock.now() - startedAt < retryTimeMs(error),
      onRetry: (error, attempt) => {
        if (attempt === 1) {
          logger.info(`Waiting for ${endpoint.name} to answer`, { url: endpoint.url, err: describeError(error) })
        }
      },
    })
  } catch (cause) {
    if (!(cause instanceof RpcTransportError) && retryTimeMs(cause) === 0) throw cause
    throw new UsageError(`cannot reach ${endpoint.name} (--${endpoint.flagName}): ${describeError(cause)}`, { cause })
  }
}

/** How long to retry. A refusal (wrong secret, not an RPC server) does not change, so it is not retried. */
function retryTimeMs(error: unknown): number {
  if (error instanceof JsonRpcError) return LIMIT_EXCEEDED.has(error.rpcCode) ? BUSY_TIMEOUT_MS : 0
  if (!(error instanceof RpcTransportError)) return 0
  const { status } = error.details
  // A server that accepts the connection and does not answer is running, but busy.
  if (error.code === 'rpc-timeout' || isBusyStatus(status)) return BUSY_TIMEOUT_MS
  return status === undefined ? STARTING_TIMEOUT_MS : 0
}
