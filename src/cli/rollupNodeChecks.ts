import type { Clock } from '../lib/clock.ts'
import { describeError, UsageError } from '../lib/errors.ts'
import { RpcTransportError } from '../lib/jsonRpc/client.ts'
import { redact } from '../lib/jsonRpc/credentials.ts'
import type { Logger } from '../lib/logger.ts'
import { retry } from '../lib/retry.ts'
import type { L1BlockRef, PayloadEnvelope, RollupConfig } from '../rollup/protocol/index.ts'

export interface CheckedL1 {
  chainId(): Promise<bigint>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

export interface CheckedEngine {
  chainId(): Promise<bigint>
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
}

export interface Endpoint {
  /** As the operator knows it: `L1`, `L2 engine`. */
  name: string
  flagName: string
  url: string
}

/** Programs that are started together come up within seconds; longer than this, something is wrong. */
const PATIENCE_MS = 10_000
/** One that takes the connection and does not answer yet is there, on a machine that has much to do. */
const BUSY_PATIENCE_MS = 60_000
const RETRY_MS = 250

/** Runs `operation` until the endpoint answers. Throws UsageError when it does not in time. */
export async function waitForEndpoint<T>(
  endpoint: Endpoint,
  operation: () => Promise<T>,
  { clock, logger, signal }: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<T> {
  const startedAt = clock.now()
  const patienceMs = (error: unknown) => (isBusy(error) ? BUSY_PATIENCE_MS : PATIENCE_MS)
  try {
    return await retry(operation, {
      clock,
      signal,
      backoff: () => RETRY_MS,
      // A refusal (wrong secret, not an RPC server) does not go away by asking again.
      shouldRetry: (error) => isSilent(error) && clock.now() - startedAt < patienceMs(error),
      onRetry: (error, attempt) => {
        if (attempt === 1) {
          logger.info(`Waiting for ${endpoint.name} to answer`, {
            url: redact(endpoint.url),
            err: describeError(error),
          })
        }
      },
    })
  } catch (cause) {
    if (!(cause instanceof RpcTransportError)) throw cause
    throw new UsageError(`cannot reach ${endpoint.name} (--${endpoint.flagName}): ${describeError(cause)}`, { cause })
  }
}

function isSilent(error: unknown): boolean {
  return error instanceof RpcTransportError && error.details.status === undefined
}

function isBusy(error: unknown): boolean {
  return error instanceof RpcTransportError && error.code === 'rpc-timeout'
}

/** That L1 is the one which the rollup config names (op-node's start-up checks, in its words). */
export async function checkL1(l1: CheckedL1, config: RollupConfig, logger: Logger): Promise<void> {
  const chainId = await l1.chainId()
  if (chainId !== config.l1ChainId) {
    throw new UsageError(`incorrect L1 RPC chain id ${chainId}, expected ${config.l1ChainId}`)
  }
  const { hash, number } = config.genesis.l1
  const block = await l1.blockInfoByNumber(number)
  if (block === undefined) {
    logger.warn('L1 does not have the block at which the rollup starts', { number, hash })
  } else if (block.hash !== hash) {
    throw new UsageError(`incorrect L1 genesis block hash ${block.hash}, expected ${hash} (L1 block ${number})`)
  }
}

/** That the engine was initialised for this rollup. */
export async function checkEngine(engine: CheckedEngine, config: RollupConfig): Promise<void> {
  const chainId = await engine.chainId()
  if (chainId !== config.l2ChainId) {
    throw new UsageError(`incorrect L2 RPC chain id ${chainId}, expected ${config.l2ChainId}`)
  }
  const { hash, number } = config.genesis.l2
  const block = await engine.payloadByNumber(number)
  if (block === undefined) throw new UsageError(`the L2 engine does not have block ${number}, where the rollup starts`)
  if (block.payload.blockHash !== hash) {
    throw new UsageError(
      `incorrect L2 genesis block hash ${block.payload.blockHash}, expected ${hash}: the engine was initialised with another genesis.json`,
    )
  }
}
