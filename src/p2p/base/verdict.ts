import type { Hex } from '../../lib/hex.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'

/** Why a block is not accepted; stable names for logs, metrics and scores. */
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
  // op-node passes it on, so whoever does is not to blame; no engine takes such a block.
  | 'too-many-transactions'
  // Of large messages, which are inspected by another process: too many at once, none in time, or it broke down.
  | 'overloaded'
  | 'timed-out'
  | 'worker-failed'
  // Our own fault, never the peer's, whose connection and score must not suffer for it.
  | 'internal-error'

export type Verdict =
  | { result: 'accept'; envelope: PayloadEnvelope; signer: 'current' | 'previous' }
  | { result: 'ignore'; reason: IgnoreReason; detail?: string; block?: BlockName }
  | { result: 'reject'; reason: RejectReason; detail?: string; block?: BlockName }

/** The block as its sender names it, once the payload is decoded. */
export interface BlockName {
  number: number
  hash: Hex
}
