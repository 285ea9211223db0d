import type { Hex } from '../../lib/hex.ts'
import type { Tracer } from '../evm/interpreter/tracer.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { Authorization } from '../primitives/block.ts'

/** What a trace makes of one transaction. */
export interface TransactionTracer extends Tracer {
  /** Before its fees are charged and its nonce goes up. */
  begin(env: Environment, transaction: TracedTransaction): void
  /** After its fees were settled: what is answered, as JSON takes it. */
  end(result: TracedResult): unknown
}

export interface TracedTransaction {
  from: Hex
  to: Hex | null
  gas: bigint
  authorizations: readonly Authorization[]
  isDeposit?: boolean
}

/** `failure`: geth's words, of a revert too. */
export interface TracedResult {
  gasUsed: bigint
  returnData: Uint8Array
  failure?: string | undefined
}
