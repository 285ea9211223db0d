import { DeviumError, type DeviumErrorOptions, type Severity } from '../../lib/errors.ts'

export type DerivationErrorCode =
  /** A block that derivation was built on is no longer part of the L1 chain. */
  | 'l1-reorg'
  /** The pipeline's state does not match the given L2 head. */
  | 'pipeline-mismatch'
  /** The engine did not return a block of the safe chain. */
  | 'l2-block-missing'
  /** `reset` was not called before `step`. */
  | 'pipeline-not-ready'
  /** The batcher posts blobs, but no beacon endpoint is configured. */
  | 'blobs-unavailable'
  /** A protocol rule is violated, and a retry cannot help. */
  | 'derivation-invariant'

/** An error of derivation. Its severity is always set. */
export class DerivationError extends DeviumError<DerivationErrorCode> {
  override readonly name = 'DerivationError'

  constructor(code: DerivationErrorCode, severity: Severity, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, { ...options, severity })
  }
}
