import type { Hex } from '../../lib/hex.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'

/** Why a block is rejected; stable names for logs, metrics and scores. */
export type RejectReason =
  | 'snappy-length'
  | 'too-large'
  | 'too-small'
  | 'snappy-damaged'
  | 'bad-signature'
  | 'wrong-signer'
  | 'bad-encoding'
  | 'too-old'
  | 'from-future'
  | 'wrong-hash'
  | 'withdrawals'
  | 'blob-gas'
  | 'beacon-root'
  | 'withdrawals-root'
  | 'too-many-at-height'
export type IgnoreReason =
  | 'no-signer-configured'
  | 'already-seen'
  // op-node passes such a block on, so its sender is not to blame. No engine accepts it.
  | 'too-many-transactions'
  // Large messages are inspected by another process. These three: too many at once, no verdict in time, or the process
  // failed.
  | 'overloaded'
  | 'timed-out'
  | 'worker-failed'
  // A fault of this node. It must not affect the peer's connection or score.
  | 'internal-error'

export type Verdict =
  | { result: 'accept'; envelope: PayloadEnvelope }
  | { result: 'ignore'; reason: IgnoreReason; detail?: string; block?: BlockName }
  | { result: 'reject'; reason: RejectReason; detail?: string; block?: BlockName }

/** The block as its sender names it, once the payload is decoded. */
export interface BlockName {
  number: number
  hash: Hex
}
