import { JsonRpcError, RPC_INVALID_PARAMS } from '../../jsonRpc/types.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'

/**
 * `engine-not-ready`: no reset has set the heads yet. `engine-state`: the engine refuses or does not know the heads
 * (reset). `engine-call`: it could not be asked or did not answer as specified (temporary). `engine-syncing`: it is busy
 * with a sync of its own (temporary). `invalid-payload`: it refuses the attributes or the block. `stale-parent`: the
 * head moved while a block was built. `payload-expired`: a block being built is gone.
 */
export type EngineErrorCode =
  | 'engine-not-ready'
  | 'engine-state'
  | 'engine-call'
  | 'engine-syncing'
  | 'invalid-payload'
  | 'stale-parent'
  | 'payload-expired'

export class EngineError extends DeviumError<EngineErrorCode> {
  override readonly name = 'EngineError'
}

/** Engine API errors (execution-apis, engine/common.md). */
export const INVALID_FORKCHOICE_STATE = -38002
export const INVALID_PAYLOAD_ATTRIBUTES = -38003

/** Without attributes: only "invalid forkchoice state" says that our heads are wrong; all else may pass. */
export function forkchoiceError(error: unknown): EngineError {
  if (error instanceof JsonRpcError && error.rpcCode === INVALID_FORKCHOICE_STATE) {
    return new EngineError('engine-state', 'engine does not accept the forkchoice state', {
      cause: error,
      severity: 'reset',
    })
  }
  return new EngineError('engine-call', 'forkchoice update failed', { cause: error, severity: 'temporary' })
}

/** With attributes: their refusal concerns the batch, other codes of the engine's range the heads. */
export function buildStartError(error: unknown): EngineError {
  if (error instanceof JsonRpcError) {
    if (error.rpcCode === INVALID_PAYLOAD_ATTRIBUTES) {
      return new EngineError('invalid-payload', 'engine refuses the payload attributes', { cause: error })
    }
    if (error.rpcCode <= -38000 && error.rpcCode >= -38099) {
      return new EngineError('engine-state', 'engine does not accept the block to build on', {
        cause: error,
        severity: 'reset',
      })
    }
  }
  return new EngineError('engine-call', 'starting a block failed', { cause: error, severity: 'temporary' })
}

/** A block of the network's that will never be taken: its L1 info cannot be read, or it lacks what its time asks for. */
export function isAboutBlock(error: unknown): boolean {
  if (error instanceof DecodeError) return true
  const cause = error instanceof EngineError ? error.cause : undefined
  return cause instanceof JsonRpcError && cause.rpcCode === RPC_INVALID_PARAMS
}
