import type { RpcClient } from '../../jsonRpc/client.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import { JsonObjectReader } from '../../lib/jsonReader.ts'
import { type BlockId, type L2BlockRef, ZERO_HASH } from '../protocol/types.ts'

/** The data that a node in follow mode adopts from another node. */
export interface FollowedStatus {
  localSafe: L2BlockRef
  safe: L2BlockRef
  finalized: L2BlockRef
  /** The L1 block that the other node derives from; undefined during its reset. */
  currentL1: (BlockId & { parentHash: BlockId['hash']; timestamp: number }) | undefined
}

/** op-node's `result` of `follow_source_requests_total`. */
type FollowErrorCode = 'error_fetch_status' | 'error_invalid_state' | 'error_l1_lookup' | 'error_l1_mismatch'

/** Why a round failed. Always temporary. */
export class FollowError extends DeviumError<FollowErrorCode> {
  override readonly name = 'FollowError'

  constructor(code: FollowErrorCode, message: string, cause?: unknown) {
    super(code, message, { severity: 'temporary', cause })
  }
}

/** The followed rollup node at the other end of `rpc`, of any implementation. Throws FollowError. */
export class FollowSource {
  private readonly rpc: Pick<RpcClient, 'request' | 'url'>
  private readonly timeoutMs: number

  constructor({ rpc }: { rpc: Pick<RpcClient, 'request' | 'url'> }, { timeoutMs }: { timeoutMs: number }) {
    this.rpc = rpc
    this.timeoutMs = timeoutMs
  }

  get url(): string {
    return this.rpc.url
  }

  async status(signal: AbortSignal): Promise<FollowedStatus> {
    let json: unknown
    try {
      json = await this.rpc.request('optimism_syncStatus', [], { timeoutMs: this.timeoutMs, signal })
    } catch (cause) {
      throw new FollowError('error_fetch_status', `${this.url} did not answer optimism_syncStatus`, cause)
    }
    const status = this.read(json)
    if (status.safe.number > status.localSafe.number) throw this.invalid('its safe head is above its local safe head')
    if (status.finalized.number > status.safe.number) throw this.invalid('its finalized head is above its safe head')
    return status
  }

  private read(json: unknown): FollowedStatus {
    try {
      const status = new JsonObjectReader(json, 'optimism_syncStatus')
      const currentL1 = l1Ref(status.object('current_l1'))
      const safe = l2Ref(status.object('safe_l2'))
      // Zeros: the node is finding its own heads.
      if (safe.hash === ZERO_HASH) throw this.invalid('it has no safe head now')
      const local = status.has('local_safe_l2') ? l2Ref(status.object('local_safe_l2')) : safe
      return {
        localSafe: local.hash === ZERO_HASH ? safe : local,
        safe,
        finalized: l2Ref(status.object('finalized_l2')),
        currentL1: currentL1.hash === ZERO_HASH ? undefined : currentL1,
      }
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause
      throw this.invalid('its answer is not a sync status', cause)
    }
  }

  private invalid(problem: string, cause?: unknown): FollowError {
    return new FollowError('error_invalid_state', `${this.url} cannot be followed: ${problem}`, cause)
  }
}

function l1Ref(json: JsonObjectReader) {
  return {
    hash: json.hex('hash', 32),
    number: json.integer('number'),
    parentHash: json.hex('parentHash', 32),
    timestamp: json.integer('timestamp'),
  }
}

function l2Ref(json: JsonObjectReader): L2BlockRef {
  const origin = json.object('l1origin')
  return {
    ...l1Ref(json),
    l1Origin: { hash: origin.hex('hash', 32), number: origin.integer('number') },
    sequenceNumber: json.integer('sequenceNumber'),
  }
}
