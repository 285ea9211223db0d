import { REVERTED } from '../evm/interpreter/failures.ts'
import type { CallResult } from './simulation/types.ts'

export function failureOf(message: string): NonNullable<CallResult['failure']> {
  return { kind: message === REVERTED ? 'revert' : 'other', message }
}
