import { DeviumError, type DeviumErrorOptions } from '../lib/errors.ts'

/**
 * - `invalid-block`: a block breaks a rule.
 * - `unknown-block`: the block is not in the database.
 * - `state-gone`: the block's state was pruned.
 * - `invalid-forkchoice` (JSON-RPC −38002): safe or finalized is not canonical.
 * - `invalid-attributes` (−38003).
 * - `build-failed`: a forced transaction cannot be included.
 * - `execution-reverted` (details.data), `execution-failed`: a simulated call failed.
 * - `invalid-transaction`: a transaction cannot be executed on this state (nonce, funds, gas …).
 * - `database-write` (critical): a write failed. The chain must be opened again.
 */
export type ChainErrorCode =
  | 'invalid-block'
  | 'unknown-block'
  | 'state-gone'
  | 'invalid-forkchoice'
  | 'invalid-attributes'
  | 'build-failed'
  | 'execution-reverted'
  | 'execution-failed'
  | 'invalid-transaction'
  | 'database-write'
  | 'closed'

export class ChainError extends DeviumError<ChainErrorCode> {
  override readonly name = 'ChainError'
  constructor(code: ChainErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, options)
  }
}

export function hasCode(error: unknown, ...codes: ChainErrorCode[]): error is ChainError {
  return error instanceof ChainError && codes.includes(error.code)
}
