import { DeviumError, type DeviumErrorOptions, type Severity } from '../../lib/errors.ts'

export type DerivationErrorCode =
  /** The L1 chain no longer holds a block that derivation built on. */
  | 'l1-reorg'
  /** The stages' view and the L2 head they are asked to build on do not belong together. */
  | 'pipeline-mismatch'
  /** The engine did not give a block of the safe chain. */
  | 'l2-block-missing'
  /** `reset` was not called before `step`. */
  | 'pipeline-not-ready'
  /** The batcher posts blobs and no source of blobs is configured. */
  | 'blobs-unavailable'
  /** A rule of the protocol is broken in a way that no retry mends. */
  | 'derivation-invariant'

/** What derivation throws on purpose; its severity is always set. */
export class DerivationError extends DeviumError<DerivationErrorCode> {
  override readonly name = 'DerivationError'

  constructor(code: DerivationErrorCode, severity: Severity, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, { ...options, severity })
  }
}
