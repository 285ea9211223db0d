import { DeviumError } from '../../lib/errors.ts'

export type TxErrorCode =
  /** The manager was closed before the transaction was confirmed. */
  | 'txmgr-closed'
  /** No transaction could be created: fees, balance or nonce could not be determined. */
  | 'tx-craft'
  /** An earlier send failed. This one would be out of order. */
  | 'tx-predecessor'
  /** Publishing cannot succeed any more. */
  | 'tx-aborted'
  /** The replacement could not be mined either. */
  | 'tx-unmineable'
  | 'tx-timeout'

/** A transaction was not confirmed. Always temporary: another transaction sends its data again. */
export class TxError extends DeviumError<TxErrorCode> {
  override readonly name = 'TxError'
  constructor(code: TxErrorCode, message: string, cause?: unknown) {
    super(code, message, { severity: 'temporary', ...(cause === undefined ? {} : { cause }) })
  }
}

/** Why an L1 node refuses a transaction. Matched by substring, since each client has its own wording. */
export type PublishProblem =
  | 'already-known'
  | 'nonce-too-low'
  | 'nonce-too-high'
  | 'replacement-underpriced'
  | 'underpriced'
  | 'incompatible-type'
  /** The blob proofs have the form of another fork. */
  | 'proof-form'
  | 'unknown'

export const PROBLEM_LABELS: Record<PublishProblem, string> = {
  'already-known': 'tx_already_known',
  'nonce-too-low': 'nonce_too_low',
  'nonce-too-high': 'nonce_too_high',
  'replacement-underpriced': 'tx_replacement_underpriced',
  underpriced: 'tx_underpriced',
  'incompatible-type': 'pending_tx_of_incompatible_type',
  'proof-form': 'blob_proof_form',
  unknown: 'unknown_error',
}

const PROBLEM_TEXTS: readonly [PublishProblem, readonly string[]][] = [
  ['incompatible-type', ['address already reserved']],
  ['proof-form', ['sidecar', 'proof version']],
  ['nonce-too-low', ['nonce too low']],
  ['nonce-too-high', ['nonce too high']],
  // The second is Anvil's and Nethermind's wording.
  ['already-known', ['already known', 'already imported', 'alreadyknown']],
  ['replacement-underpriced', ['replacement transaction underpriced']],
  ['underpriced', ['transaction underpriced', 'max fee per gas less than block base fee']],
]

export function classifyPublishError(message: string, alreadyPublishedErrors: readonly string[]): PublishProblem {
  const text = message.toLowerCase()
  for (const [problem, parts] of PROBLEM_TEXTS) if (parts.some((part) => text.includes(part))) return problem
  if (alreadyPublishedErrors.some((part) => part !== '' && text.includes(part.toLowerCase()))) return 'already-known'
  return 'unknown'
}
