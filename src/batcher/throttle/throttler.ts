import type { RpcClient } from '../../jsonRpc/client.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { toQuantity } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import {
  ThrottleController,
  type ThrottleControllerType,
  type ThrottleLimits,
  type ThrottleOptions,
} from './controller.ts'

export interface ThrottleMetrics {
  throttle(type: ThrottleControllerType, limits: ThrottleLimits, load: number): void
}

export interface ThrottlerModules {
  /** Every block builder: those whose blocks are submitted, and others that may come to build them. */
  builders: readonly Pick<RpcClient, 'request' | 'url'>[]
  clock: Clock
  logger: Logger
  metrics: ThrottleMetrics
}

const RETRY_MS = 10_000
/** A builder that was started again has forgotten its limits. */
const REPEAT_MS = 60_000
/** JSON-RPC's codes for calls that no retry mends: the method is unknown, or its parameters. */
const isUnsupported = (error: unknown): error is JsonRpcError =>
  error instanceof JsonRpcError && error.rpcCode >= -32_699 && error.rpcCode <= -32_600

interface Builder {
  rpc: Pick<RpcClient, 'request' | 'url'>
  told: { limits: ThrottleLimits; atMs: number } | undefined
  isBusy: boolean
  /** It does not know the method: it is asked no more. */
  isUnable: boolean
}

/**
 * Tells block builders how large transactions and blocks may be on L1 (`miner_setMaxDASize`), the less the more data
 * wait. Each builder is told by itself: one that is away holds up no other.
 */
export class Throttler {
  readonly controller: ThrottleController
  private readonly modules: ThrottlerModules
  private readonly options: ThrottleOptions
  private readonly timeoutMs: number
  private readonly builders: Builder[]
  private readonly warnings: RepeatedWarnings
  private readonly stopped = new AbortController()
  private limits: ThrottleLimits | undefined
  private load = 0

  constructor(modules: ThrottlerModules, options: ThrottleOptions, timeoutMs: number) {
    this.modules = modules
    this.options = options
    this.timeoutMs = timeoutMs
    this.controller = new ThrottleController(options)
    this.builders = modules.builders.map((rpc) => ({ rpc, told: undefined, isBusy: false, isUnable: false }))
    this.warnings = new RepeatedWarnings(modules)
  }

  get isThrottling(): boolean {
    return (this.limits?.intensity ?? 0) > 0
  }

  /** What `admin_getThrottleController` answers, under op-batcher's names. */
  get status(): { [name: string]: string | number } {
    const limits = this.limits ?? this.controller.limits(this.load, this.modules.clock.now())
    return {
      type: this.controller.type,
      lower_threshold: this.options.lowerThreshold,
      upper_threshold: this.options.upperThreshold,
      current_load: this.load,
      intensity: limits.intensity,
      max_tx_size: limits.maxTxBytes,
      max_block_size: limits.maxBlockBytes,
    }
  }

  /** Bytes that wait to be safe. Builders are told beside it. */
  update(loadBytes: number): void {
    if (this.options.lowerThreshold === 0 || this.stopped.signal.aborted) return
    const wasThrottling = this.isThrottling
    this.load = loadBytes
    const limits = this.controller.limits(loadBytes, this.modules.clock.now())
    this.limits = limits
    this.modules.metrics.throttle(this.controller.type, limits, loadBytes / this.options.lowerThreshold)
    if (wasThrottling !== this.isThrottling) {
      this.modules.logger.warn(
        this.isThrottling ? 'Data pile up: block builders are throttled' : 'Block builders are throttled no more',
        { unsafe_da_bytes: loadBytes, ...limits },
      )
    }
    for (const builder of this.builders) void this.tell(builder)
  }

  stop(): void {
    this.stopped.abort()
  }

  private async tell(builder: Builder): Promise<void> {
    const { clock, logger } = this.modules
    const { limits } = this
    if (limits === undefined || builder.isBusy || builder.isUnable) return
    if (isSame(builder.told?.limits, limits) && clock.now() - (builder.told?.atMs ?? 0) < REPEAT_MS) return
    builder.isBusy = true
    let failed: unknown
    try {
      const params = [toQuantity(limits.maxTxBytes), toQuantity(limits.maxBlockBytes)]
      const call = { timeoutMs: this.timeoutMs, signal: this.stopped.signal }
      const answer = await builder.rpc.request('miner_setMaxDASize', params, call)
      if (answer === true) builder.told = { limits, atMs: clock.now() }
      else failed = `answered ${JSON.stringify(answer)}`
    } catch (error) {
      failed = error
    }
    builder.isBusy = false
    if (this.stopped.signal.aborted) return
    const { url } = builder.rpc
    if (isUnsupported(failed)) {
      builder.isUnable = true
      logger.warn('A block builder cannot be throttled: it does not serve miner_setMaxDASize', {
        endpoint: url,
        err: failed,
      })
    } else if (failed !== undefined) {
      this.warnings.warn(`Unable to throttle the block builder ${url}, trying again`, failed)
      clock.setTimeout(() => void this.tell(builder), RETRY_MS)
    } else if (!isSame(this.limits, limits)) {
      await this.tell(builder)
    }
  }
}

function isSame(a: ThrottleLimits | undefined, b: ThrottleLimits | undefined): boolean {
  return a?.maxTxBytes === b?.maxTxBytes && a?.maxBlockBytes === b?.maxBlockBytes
}
