import { DeviumError, type DeviumErrorOptions } from '../lib/errors.ts'

/**
 * `invalidBlock`: a block breaks a rule. `unknownBlock`: asked about a block that is not here. `stateGone`: its state is
 * not kept any more.
 * `invalidForkchoice`, `invalidAttributes`: as in chain/types.ts. `buildFailed`: a forced transaction cannot be used.
 * `executionReverted` (details.data), `executionFailed`: a simulated call failed. `invalidTransaction`: a transaction
 * cannot be executed on this state (nonce, funds, gas …).
 */
export type ChainErrorCode =
  | 'invalidBlock'
  | 'unknownBlock'
  | 'stateGone'
  | 'invalidForkchoice'
  | 'invalidAttributes'
  | 'buildFailed'
  | 'executionReverted'
  | 'executionFailed'
  | 'invalidTransaction'
  | 'closed'

export class ChainError extends DeviumError<ChainErrorCode> {
  override readonly name = 'ChainError'
  constructor(code: ChainErrorCode, message: string, options: DeviumErrorOptions = {}) {
    super(code, message, options)
  }
}
