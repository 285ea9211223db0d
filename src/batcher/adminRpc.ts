import type { RpcHandler } from '../lib/jsonRpc/server.ts'
import { invalidParams, type JsonValue } from '../lib/jsonRpc/types.ts'
import { LOG_LEVELS, type LogLevel } from '../lib/logger.ts'
import type { BatchSubmitter } from './batchSubmitter.ts'
import type { TunableTxManagerOptions } from './txmgr/txManager.ts'

export interface BatcherRpcModules {
  batcher: Pick<BatchSubmitter, 'start' | 'stop' | 'flush'>
  txManager: { readonly tunables: TunableTxManagerOptions }
  setLogLevel: (level: LogLevel) => void
}

const NANOSECONDS_PER_MS = 1_000_000

/** The `admin` and `txmgr` namespaces under op-batcher's names. */
export function createBatcherRpc(modules: BatcherRpcModules): Map<string, RpcHandler> {
  const { batcher, txManager, setLogLevel } = modules
  const tunables = txManager.tunables
  return new Map<string, RpcHandler>([
    ['admin_startBatcher', () => batcher.start()],
    ['admin_stopBatcher', (_params, { signal }) => batcher.stop(signal)],
    ['admin_flushBatcher', () => batcher.flush()],
    ['admin_setLogLevel', ([level]) => setLogLevel(logLevel(level))],
    ['txmgr_getMinBaseFee', () => tunables.minBaseFeeWei],
    [
      'txmgr_setMinBaseFee',
      ([value]) => {
        tunables.minBaseFeeWei = wei(value)
      },
    ],
    ['txmgr_getMinPriorityFee', () => tunables.minTipCapWei],
    [
      'txmgr_setMinPriorityFee',
      ([value]) => {
        tunables.minTipCapWei = wei(value)
      },
    ],
    ['txmgr_getFeeThreshold', () => tunables.feeLimitThresholdWei],
    [
      'txmgr_setFeeThreshold',
      ([value]) => {
        tunables.feeLimitThresholdWei = wei(value)
      },
    ],
    ['txmgr_getBumpFeeRetryTime', () => tunables.resubmissionTimeoutMs * NANOSECONDS_PER_MS],
    [
      'txmgr_setBumpFeeRetryTime',
      ([value]) => {
        tunables.resubmissionTimeoutMs = durationMs(value)
      },
    ],
    ['txmgr_getRebroadcastInterval', () => tunables.rebroadcastIntervalMs * NANOSECONDS_PER_MS],
    [
      'txmgr_setRebroadcastInterval',
      ([value]) => {
        tunables.rebroadcastIntervalMs = durationMs(value)
      },
    ],
  ])
}

function logLevel(value: JsonValue | undefined): LogLevel {
  const found = LOG_LEVELS.find((level) => typeof value === 'string' && level === value.toLowerCase())
  if (found === undefined) throw invalidParams(`level: expected one of ${LOG_LEVELS.join(', ')}`)
  return found
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
