import type { RpcHandler } from '../../jsonRpc/server.ts'
import { invalidParams, type JsonValue } from '../../jsonRpc/types.ts'
import { durationMsIn } from '../../lib/duration.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { LOG_LEVELS, type LogLevel, parseLogLevel } from '../../lib/logger.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { BatchSubmitter } from '../submitter/batchSubmitter.ts'
import {
  checkPidOptions,
  type PidOptions,
  THROTTLE_CONTROLLERS,
  type ThrottleControllerType,
} from '../throttle/controller.ts'
import type { TunableTxManagerOptions } from '../txmgr/txManager.ts'
import { type BatcherStatus, explainStatus, isHealthy } from './status.ts'

export interface BatcherRpcModules {
  batcher: Pick<BatchSubmitter, 'start' | 'stop' | 'flush' | 'throttler' | 'status'>
  txManager: { readonly tunables: TunableTxManagerOptions }
  setLogLevel: (level: LogLevel) => void
}

const NANOSECONDS_PER_MS = 1_000_000

export interface BatcherRpc {
  methods: ReadonlyMap<string, RpcHandler>
  /** False for methods that only read. */
  isChanging: (method: string) => boolean
}

/** The `admin` and `txmgr` namespaces under op-batcher's names. */
export function createBatcherRpc(modules: BatcherRpcModules): BatcherRpc {
  const reading = readingMethods(modules).map(limitingParams)
  const changing = new Map(changingMethods(modules).map(limitingParams))
  return { methods: new Map([...reading, ...changing]), isChanging: (method) => changing.has(method) }
}

/** A method, and the most parameters it accepts. */
type Method = [name: string, handler: RpcHandler, params?: number]

/** As geth's RPC server does. */
function limitingParams([name, handler, most = 0]: Method): [string, RpcHandler] {
  return [
    name,
    (params, context) => {
      if (params.length > most) throw invalidParams(`too many arguments, want at most ${most}`)
      return handler(params, context)
    },
  ]
}

function readingMethods({ batcher, txManager: { tunables } }: BatcherRpcModules): Method[] {
  return [
    ['admin_batcherStatus', () => statusJson(batcher.status, Date.now())],
    ['admin_getThrottleController', () => batcher.throttler.status],
    ['txmgr_getMinBaseFee', () => tunables.minBaseFeeWei],
    ['txmgr_getMinPriorityFee', () => tunables.minTipCapWei],
    ['txmgr_getMinBlobFee', () => tunables.minBlobFeeWei],
    ['txmgr_getBlobTipCapDynamic', () => tunables.blobTipCapDynamic],
    ['txmgr_getFeeThreshold', () => tunables.feeLimitThresholdWei],
    ['txmgr_getBumpFeeRetryTime', () => tunables.resubmissionTimeoutMs * NANOSECONDS_PER_MS],
    ['txmgr_getRebroadcastInterval', () => tunables.rebroadcastIntervalMs * NANOSECONDS_PER_MS],
  ]
}

function changingMethods({ batcher, txManager, setLogLevel }: BatcherRpcModules): Method[] {
  const set =
    <Name extends keyof TunableTxManagerOptions>(
      name: Name,
      read: (value: JsonValue | undefined) => TunableTxManagerOptions[Name],
    ): RpcHandler =>
    ([value]) => {
      txManager.tunables[name] = read(value)
    }
  return [
    ['admin_startBatcher', () => batcher.start()],
    // A caller that disconnects stops waiting. The stop itself continues.
    ['admin_stopBatcher', (_params, { signal }) => untilAborted(batcher.stop(), signal)],
    ['admin_flushBatcher', () => batcher.flush()],
    [
      'admin_setThrottleController',
      ([type, pid]) => batcher.throttler.controller.setType(...controllerChange(type, pid)),
      2,
    ],
    ['admin_resetThrottleController', () => batcher.throttler.controller.reset()],
    ['admin_setLogLevel', ([level]) => setLogLevel(logLevel(level)), 1],
    ['txmgr_setMinBaseFee', set('minBaseFeeWei', wei), 1],
    ['txmgr_setMinPriorityFee', set('minTipCapWei', wei), 1],
    ['txmgr_setMinBlobFee', set('minBlobFeeWei', wei), 1],
    ['txmgr_setBlobTipCapDynamic', set('blobTipCapDynamic', trueOrFalse), 1],
    ['txmgr_setFeeThreshold', set('feeLimitThresholdWei', wei), 1],
    ['txmgr_setBumpFeeRetryTime', set('resubmissionTimeoutMs', durationMs), 1],
    ['txmgr_setRebroadcastInterval', set('rebroadcastIntervalMs', durationMs), 1],
  ]
}

function logLevel(value: JsonValue | undefined): LogLevel {
  const found = typeof value === 'string' ? parseLogLevel(value) : undefined
  if (found === undefined) throw invalidParams(`level: expected one of ${LOG_LEVELS.join(', ')}`)
  return found
}

/** Amounts in wei become decimal strings; undefined becomes null. */
function statusJson(status: BatcherStatus, nowMs: number): JsonValue {
  const text = JSON.stringify(
    { why: explainStatus(status, nowMs), ok: isHealthy(status), ...status },
    (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value === undefined ? null : value),
  )
  return JSON.parse(text) as JsonValue
}

/** op-batcher's form: an empty type means `step`; `pid` needs its limits, and a missing gain is 0. */
function controllerChange(
  type: JsonValue | undefined,
  pid: JsonValue | undefined,
): [ThrottleControllerType, PidOptions?] {
  const wanted = type === '' ? 'step' : type
  const found = THROTTLE_CONTROLLERS.find((name) => name === wanted)
  if (found === undefined) {
    throw invalidParams(
      `invalid controller type '${typeof wanted === 'string' ? wanted : JSON.stringify(wanted)}', must be one of: [${THROTTLE_CONTROLLERS.join(', ')}]`,
    )
  }
  if (found !== 'pid') return [found]
  if (!isObject(pid)) throw invalidParams('cannot set PID controller type without configuration')
  const factor = (name: string): number => {
    const value = pid[name] ?? 0
    if (typeof value !== 'number') throw invalidParams(`${name}: expected a number`)
    return value
  }
  const sampleTimeMs = durationMsIn(pid.sample_time)
  if (sampleTimeMs === undefined) throw invalidParams('sample_time: expected a duration such as "2s"')
  const options = {
    kp: factor('kp'),
    ki: factor('ki'),
    kd: factor('kd'),
    integralMax: factor('integral_max'),
    outputMax: factor('output_max'),
    sampleTimeMs,
  }
  checkPidOptions(options)
  return [found, options]
}

function trueOrFalse(value: JsonValue | undefined): boolean {
  if (typeof value !== 'boolean') throw invalidParams('expected true or false')
  return value
}

function wei(value: JsonValue | undefined): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^(0x[0-9a-fA-F]{1,32}|\d{1,32})$/.test(value)) return BigInt(value)
  throw invalidParams('fee: expected a whole number of wei')
}

function durationMs(value: JsonValue | undefined): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < NANOSECONDS_PER_MS)
    throw invalidParams('time: expected nanoseconds, at least one millisecond')
  return value / NANOSECONDS_PER_MS
}
