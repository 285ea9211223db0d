import { type RpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import { JsonObjectReader } from '../../lib/jsonReader.ts'
import type { Logger } from '../../lib/logger.ts'
import { type BlockId, ZERO_HASH } from '../../rollup/protocol/types.ts'

/** The fields of the rollup node's sync status that the batcher reads. */
export interface BatcherSyncStatus {
  headL1: BlockId
  currentL1: BlockId
  /** The locally derived safe head. `safe_l2` of nodes that do not report `local_safe_l2`. */
  safeL2: BlockId & { l1OriginNumber: number }
  unsafeL2: BlockId
}

/** The sync status is unavailable. The code says whether the request timed out or failed. */
export class SyncStatusError extends DeviumError<'sync-status-timeout' | 'sync-status-failed'> {
  override readonly name = 'SyncStatusError'
}

const FIRST_BACKOFF_MS = 250

/**
 * Requests the rollup node's sync status. A node that has just started answers with empty references: the request is
 * repeated until they are set or `timeoutMs` is over. Throws SyncStatusError.
 */
export async function fetchSyncStatus(
  modules: { rollup: Pick<RpcClient, 'request'>; clock: Clock; logger: Logger },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<BatcherSyncStatus> {
  const { rollup, clock, logger } = modules
  const startedAtMs = clock.now()
  for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs *= 2) {
    const status = await requestSyncStatus(rollup, timeoutMs, signal)
    if (status !== undefined) return status
    if (clock.now() + backoffMs - startedAtMs >= timeoutMs) {
      throw new SyncStatusError(
        'sync-status-timeout',
        `sync status request timed out: the rollup node is not in sync and has reported no L1 head for ${timeoutMs} ms (empty BlockRef in sync status)`,
        { severity: 'temporary' },
      )
    }
    logger.info('Received empty sync status, backing off', { backoff: `${backoffMs}ms` })
    await sleep(clock, backoffMs, signal)
  }
}

async function requestSyncStatus(
  rollup: Pick<RpcClient, 'request'>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<BatcherSyncStatus | undefined> {
  try {
    return parseSyncStatus(await rollup.request('optimism_syncStatus', [], { timeoutMs, signal }))
  } catch (cause) {
    signal.throwIfAborted()
    const timedOut = cause instanceof RpcTransportError && cause.code === 'rpc-timeout'
    throw new SyncStatusError(
      timedOut ? 'sync-status-timeout' : 'sync-status-failed',
      timedOut ? 'sync status request timed out' : 'sync status request failed',
      { cause, severity: 'temporary' },
    )
  }
}

/** Undefined if the node has no L1 head, current L1 block, safe head or unsafe head yet. Throws DecodeError. */
export function parseSyncStatus(json: unknown): BatcherSyncStatus | undefined {
  const status = new JsonObjectReader(json, 'sync status')
  const headL1 = blockId(status.object('head_l1'))
  const unsafeL2 = blockId(status.object('unsafe_l2'))
  // Nodes of 2024 leave `local_safe_l2` empty until they have derived their first block.
  const local = status.optionalObject('local_safe_l2')
  const safe = local === undefined || blockId(local).hash === ZERO_HASH ? status.object('safe_l2') : local
  const safeL2 = blockId(safe)
  // Empty while the node resets its derivation.
  const currentL1 = blockId(status.object('current_l1'))
  if ([headL1, currentL1, unsafeL2, safeL2].some((ref) => ref.hash === ZERO_HASH)) return undefined
  const l1OriginNumber = blockId(safe.object('l1origin')).number
  return { headL1, currentL1, safeL2: { ...safeL2, l1OriginNumber }, unsafeL2 }
}

function blockId(ref: JsonObjectReader): BlockId {
  return { hash: ref.hex('hash', 32), number: ref.integer('number') }
}
