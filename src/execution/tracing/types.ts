import type { Hex } from '../../lib/hex.ts'
import type { Tracer } from '../evm/interpreter/tracer.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { Authorization } from '../primitives/block.ts'

export interface TransactionTracer extends Tracer {
  /** Called before fees are charged and the nonce is incremented. */
  begin(env: Environment, transaction: TracedTransaction): void
  /** Called after fees are charged. Returns the trace as JSON. */
  end(result: TracedResult): unknown
}

export interface TracedTransaction {
  from: Hex
  to: Hex | null
  gas: bigint
  authorizations: readonly Authorization[]
  isDeposit?: boolean
}

/** `failure`: geth's message, also for a revert. */
export interface TracedResult {
  gasUsed: bigint
  returnData: Uint8Array
  failure?: string | undefined
}
