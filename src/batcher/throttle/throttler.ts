import type { RpcClient } from '../../jsonRpc/client.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { toQuantity } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BatcherMetrics } from '../submitter/metrics.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import { ThrottleController, type ThrottleLimits, type ThrottleOptions } from './controller.ts'

export interface ThrottlerModules {
  /** All block builders: the active sequencer's, and those that may take over from it. */
  builders: readonly Pick<RpcClient, 'request' | 'url'>[]
  clock: Clock
  logger: Logger
  metrics: Pick<BatcherMetrics, 'throttle'>
}

/** A restarted builder has lost its limits, or serves the method now. */
const REPEAT_MS = 60_000
/** JSON-RPC's own codes. Mostly the builder does not serve the method, so asking again soon does not help. */
const isUnsupported = (error: unknown): error is JsonRpcError =>
  error instanceof JsonRpcError && error.rpcCode >= -32_699 && error.rpcCode <= -32_600

interface Builder {
  rpc: Pick<RpcClient, 'request' | 'url'>
  sent: { limits: ThrottleLimits; atMs: number } | undefined
  isBusy: boolean
  /** When the builder refused the method. Undefined once it accepts. */
  refusedAtMs: number | undefined
}

/**
 * Limits the L1 bytes of transactions and blocks at all block builders (`miner_setMaxDASize`). The more data waits, the
 * lower the limits. Each builder has its own requests, so an unreachable builder does not delay the others.
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
    this.builders = modules.builders.map((rpc) => ({ rpc, sent: undefined, isBusy: false, refusedAtMs: undefined }))
    this.warnings = new RepeatedWarnings(modules)
  }

  get isThrottling(): boolean {
    return (this.limits?.intensity ?? 0) > 0
  }

  /** The answer of `admin_getThrottleController`, under op-batcher's names. */
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

  /** Sets the load, in unsafe bytes. The requests to builders run in the background. */
  update(loadBytes: number): void {
    if (this.options.lowerThreshold === 0 || this.stopped.signal.aborted) return
    const wasThrottling = this.isThrottling
    this.load = loadBytes
    const limits = this.controller.limits(loadBytes, this.modules.clock.now())
    this.limits = limits
    const { type, pidTerms } = this.controller
    this.modules.metrics.throttle(type, limits, loadBytes / this.options.lowerThreshold, pidTerms)
    if (wasThrottling !== this.isThrottling) {
      this.modules.logger.warn(
        this.isThrottling
          ? 'Unsafe data is above the threshold: block builders are throttled'
          : 'Unsafe data is below the threshold: block builders are not throttled any more',
        { unsafe_da_bytes: loadBytes, ...limits },
      )
    }
    for (const builder of this.builders) void this.sendLimits(builder)
  }

  stop(): void {
    this.stopped.abort()
  }

  private async sendLimits(builder: Builder): Promise<void> {
    const { clock, logger } = this.modules
    const { limits } = this
    if (limits === undefined || builder.isBusy) return
    const { refusedAtMs } = builder
    if (refusedAtMs !== undefined && Math.abs(clock.now() - refusedAtMs) < REPEAT_MS) return
    if (isSame(builder.sent?.limits, limits) && clock.now() - (builder.sent?.atMs ?? 0) < REPEAT_MS) return
    builder.isBusy = true
    let failed: unknown
    try {
      const params = [toQuantity(limits.maxTxBytes), toQuantity(limits.maxBlockBytes)]
      const call = { timeoutMs: this.timeoutMs, signal: this.stopped.signal }
      const answer = await builder.rpc.request('miner_setMaxDASize', params, call)
      if (answer === true) {
        builder.sent = { limits, atMs: clock.now() }
        builder.refusedAtMs = undefined
      } else failed = `answered ${JSON.stringify(answer)}`
    } catch (error) {
      failed = error
    }
    builder.isBusy = false
    if (this.stopped.signal.aborted) return
    const { url } = builder.rpc
    if (isUnsupported(failed)) {
      builder.refusedAtMs = clock.now()
      logger[refusedAtMs === undefined ? 'warn' : 'debug'](
        'Block builder is not throttled: it refuses miner_setMaxDASize. Enable its miner namespace',
        { endpoint: url, err: failed },
      )
    } else if (failed !== undefined) {
      this.warnings.warn(`Failed to throttle the block builder ${url}, retrying`, failed)
    } else if (!isSame(this.limits, limits)) {
      await this.sendLimits(builder)
    }
  }
}

function isSame(a: ThrottleLimits | undefined, b: ThrottleLimits | undefined): boolean {
  return a?.maxTxBytes === b?.maxTxBytes && a?.maxBlockBytes === b?.maxBlockBytes
}
