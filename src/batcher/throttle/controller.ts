import { UsageError } from '../../lib/errors.ts'

export const THROTTLE_CONTROLLERS = ['step', 'linear', 'quadratic', 'pid'] as const
export type ThrottleControllerType = (typeof THROTTLE_CONTROLLERS)[number]

/**
 * Factors of the PID controller. Its error is the load's excess over the lower threshold, divided by that threshold.
 */
export interface PidOptions {
  kp: number
  ki: number
  kd: number
  integralMax: number
  outputMax: number
  sampleTimeMs: number
}

export interface PidTerms {
  error: number
  integral: number
  derivative: number
}

/** op-batcher's options and defaults. Bytes are bytes on L1. */
export interface ThrottleOptions {
  type: ThrottleControllerType
  /** Unsafe bytes above which data is limited; 0 = never. Default 3,200,000. */
  lowerThreshold: number
  /** Unsafe bytes at which the limits are lowest. Default 12,800,000. */
  upperThreshold: number
  /**
   * Transaction size at the highest and the lowest intensity. A lower limit of 0 disables it. Default 150 and 20,000.
   */
  txSizeLowerLimit: number
  txSizeUpperLimit: number
  /** Block size. The upper limit applies even without load. Default 2,000 and 130,000. */
  blockSizeLowerLimit: number
  blockSizeUpperLimit: number
  pid: PidOptions
}

/** Limits for block builders. 0 = no limit. */
export interface ThrottleLimits {
  /** 0 to 1. */
  intensity: number
  maxTxBytes: number
  maxBlockBytes: number
}

/** Throws UsageError. */
export function checkThrottleOptions(options: ThrottleOptions): void {
  if (options.lowerThreshold === 0) return
  const { lowerThreshold, upperThreshold, type } = options
  if (upperThreshold <= lowerThreshold) {
    throw new UsageError(
      `--throttle.unsafe-da-bytes-upper-threshold must be greater than the lower threshold, have ${upperThreshold} and ${lowerThreshold}`,
    )
  }
  if (options.blockSizeLowerLimit >= options.blockSizeUpperLimit)
    throw new UsageError('--throttle.block-size-lower-limit must be less than --throttle.block-size-upper-limit')
  if (type !== 'step' && options.txSizeLowerLimit >= options.txSizeUpperLimit)
    throw new UsageError('--throttle.tx-size-lower-limit must be less than --throttle.tx-size-upper-limit')
  checkPidOptions(options.pid)
}

/** Throws UsageError, in op-batcher's words. */
export function checkPidOptions({ kp, ki, kd, integralMax, outputMax }: PidOptions): void {
  for (const [name, gain] of Object.entries({ Kp: kp, Ki: ki, Kd: kd })) {
    if (!(gain >= 0)) throw new UsageError(`PID ${name} gain must be non-negative, have ${gain}`)
  }
  if (!(integralMax > 0)) throw new UsageError(`PID IntegralMax must be positive, have ${integralMax}`)
  if (!(outputMax > 0 && outputMax <= 1))
    throw new UsageError(`PID OutputMax must be between 0 and 1, have ${outputMax}`)
}

/** Computes the limits for block builders from the bytes that are not safe yet. */
export class ThrottleController {
  private readonly options: ThrottleOptions
  type: ThrottleControllerType
  private pid: PidOptions
  private integral = 0
  private lastError = 0
  private lastSlope = 0
  private lastOutput = 0
  private sampledAtMs: number | undefined

  constructor(options: ThrottleOptions) {
    this.options = options
    this.type = options.type
    this.pid = options.pid
  }

  /** Takes effect with the next load. */
  setType(type: ThrottleControllerType, pid: PidOptions = this.pid): void {
    this.type = type
    this.pid = pid
    this.reset()
  }

  /** Of the last sample: the error, its integral, and its slope by second. */
  get pidTerms(): PidTerms {
    return { error: this.lastError, integral: this.integral, derivative: this.lastSlope }
  }

  /** Clears the state of the PID controller. */
  reset(): void {
    this.integral = 0
    this.lastError = 0
    this.lastSlope = 0
    this.lastOutput = 0
    this.sampledAtMs = undefined
  }

  limits(loadBytes: number, nowMs: number): ThrottleLimits {
    const { options } = this
    const intensity = this.intensity(loadBytes, nowMs)
    return {
      intensity,
      maxTxBytes: intensity === 0 ? 0 : between(options.txSizeUpperLimit, options.txSizeLowerLimit, intensity),
      maxBlockBytes: between(options.blockSizeUpperLimit, options.blockSizeLowerLimit, intensity),
    }
  }

  private intensity(loadBytes: number, nowMs: number): number {
    const { lowerThreshold, upperThreshold } = this.options
    if (this.type === 'pid') return this.pidIntensity(loadBytes, nowMs)
    if (loadBytes <= lowerThreshold) return 0
    if (this.type === 'step') return 1
    const share = Math.min(1, (loadBytes - lowerThreshold) / (upperThreshold - lowerThreshold))
    return this.type === 'linear' ? share : share * share
  }

  private pidIntensity(loadBytes: number, nowMs: number): number {
    const { lowerThreshold } = this.options
    const { kp, ki, kd, integralMax, outputMax, sampleTimeMs } = this.pid
    if (loadBytes <= lowerThreshold) {
      this.reset()
      return 0
    }
    const sinceMs = this.sampledAtMs === undefined ? undefined : nowMs - this.sampledAtMs
    if (sinceMs !== undefined && sinceMs < sampleTimeMs) return this.lastOutput
    const seconds = (sinceMs ?? sampleTimeMs) / 1000
    const error = (loadBytes - lowerThreshold) / lowerThreshold
    this.integral = Math.min(integralMax, this.integral + error * seconds)
    const slope = sinceMs === undefined || seconds === 0 ? 0 : (error - this.lastError) / seconds
    this.lastError = error
    this.lastSlope = slope
    this.sampledAtMs = nowMs
    this.lastOutput = Math.min(outputMax, Math.max(0, kp * error + ki * this.integral + kd * slope))
    return this.lastOutput
  }
}

function between(upper: number, lower: number, intensity: number): number {
  return lower === 0 ? 0 : Math.round(upper - (upper - lower) * intensity)
}
