import type { CallResult } from './types.ts'

/** geth's words (`core/vm/errors.go`) for EthereumJS's. */
const TEXTS: Readonly<Record<string, string>> = {
  'code store out of gas': 'contract creation code storage out of gas',
  'code size to deposit exceeds maximum code size': 'max code size exceeded',
  'stack overflow': 'stack limit reached 1024 (1023)',

  'value out of range': 'gas uint64 overflow',
  'static state change': 'write protection',
  'create collision': 'contract address collision',
  'insufficient balance': 'insufficient balance for transfer',
  'invalid bytecode deployed': 'invalid code: must not begin with 0xef',
  'initcode exceeds max initcode size': 'max initcode size exceeded',
}

const REVERT = 'revert'

/** How a message ended that did not succeed. */
export function failureOf(evmError: string): NonNullable<CallResult['failure']> {
  if (evmError === REVERT) return { kind: 'revert', message: 'execution reverted' }
  // This one says where it was.
  if (evmError.startsWith('invalid JUMP')) return { kind: 'other', message: 'invalid jump destination' }
  return { kind: 'other', message: TEXTS[evmError] ?? evmError }
}
