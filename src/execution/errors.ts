import { DeviumError, type DeviumErrorOptions } from '../lib/errors.ts'

/**
 * `invalid-block`: a block breaks a rule. `unknown-block`: asked about a block that is not here. `state-gone`: its state is
 * not kept any more.
 * `invalid-forkchoice` (JSON-RPC −38002): safe or finalized is not canonical. `invalid-attributes` (−38003). `build-failed`: a forced transaction cannot be used.
 * `execution-reverted` (details.data), `execution-failed`: a simulated call failed. `invalid-transaction`: a transaction
 * cannot be executed on this state (nonce, funds, gas …).
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
  | 'closed'

export class ChainError extends DeviumError<ChainErrorCode> {
  override readonly name = 'ChainError'
  constructor(code: ChainErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, options)
  }
}
