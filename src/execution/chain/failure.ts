import { REVERTED } from '../evm/interpreter/failures.ts'
import type { CallResult } from './simulation/types.ts'

/** geth's addition to a failure of eth_simulateV1 whose call got less gas than it wanted. */
const CAPPED = " (gas limit was capped by the RPC server's global gas cap)"

export function failureOf(message: string, { isCapped = false } = {}): NonNullable<CallResult['failure']> {
  if (message === REVERTED) return { kind: 'revert', message }
  return { kind: 'other', message: isCapped ? `${message}${CAPPED}` : message }
}
