import { JsonRpcError, RPC_INVALID_PARAMS } from '../../jsonRpc/types.ts'
import { DecodeError, DeviumError, type DeviumErrorOptions } from '../../lib/errors.ts'

/**
 * The codes of EngineError.
 *
 * - `engine-not-ready`: no reset has set the heads yet.
 * - `engine-state` (reset): the engine rejects or does not know the heads.
 * - `engine-call`: the call failed, or the result violates the specification.
 * - `engine-syncing`: the engine is busy with its own sync.
 * - `invalid-payload`: the engine rejects the attributes or the block.
 * - `stale-parent`: the head moved while a block was built.
 * - `payload-expired`: the engine lost a block that it was building.
 */
export type EngineErrorCode =
  | 'engine-not-ready'
  | 'engine-state'
  | 'engine-call'
  | 'engine-syncing'
  | 'invalid-payload'
  | 'stale-parent'
  | 'payload-expired'

/** Temporary, unless the code or the caller says otherwise. */
export class EngineError extends DeviumError<EngineErrorCode> {
  override readonly name = 'EngineError'

  constructor(code: EngineErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, { severity: code === 'engine-state' ? 'reset' : 'temporary', ...options })
  }
}

/** Engine API errors (execution-apis, engine/common.md). */
export const INVALID_FORKCHOICE_STATE = -38002
export const INVALID_PAYLOAD_ATTRIBUTES = -38003

/**
 * For an update without attributes. Only "invalid forkchoice state" means that our heads are wrong; other errors are
 * temporary.
 */
export function forkchoiceError(error: unknown): EngineError {
  if (error instanceof JsonRpcError && error.rpcCode === INVALID_FORKCHOICE_STATE) {
    return new EngineError('engine-state', 'engine rejects the forkchoice state', { cause: error })
  }
  return new EngineError('engine-call', 'forkchoice update failed', { cause: error })
}

/**
 * For an update with attributes. Rejected attributes concern the batch. Other codes of the engine's range concern the
 * heads.
 */
export function buildStartError(error: unknown): EngineError {
  if (error instanceof JsonRpcError) {
    if (error.rpcCode === INVALID_PAYLOAD_ATTRIBUTES) {
      return new EngineError('invalid-payload', 'engine rejects the payload attributes', { cause: error })
    }
    if (error.rpcCode <= -38000 && error.rpcCode >= -38099) {
      return new EngineError('engine-state', 'engine rejects the block to build on', { cause: error })
    }
  }
  return new EngineError('engine-call', 'starting a block failed', { cause: error })
}

/**
 * Whether the error means that a received block is permanently invalid: its L1 info is unreadable, or a required field
 * is missing.
 */
export function isAboutBlock(error: unknown): boolean {
  if (error instanceof DecodeError) return true
  const cause = error instanceof EngineError ? error.cause : undefined
  return cause instanceof JsonRpcError && cause.rpcCode === RPC_INVALID_PARAMS
}
