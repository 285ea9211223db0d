import type { Failure, Frame } from './frame.ts'
import { type OpcodeTable, opcodeName } from './opcodeTable.ts'

export const REVERTED = 'execution reverted'

/** geth's messages (core/vm/errors.go). */
export const TEXTS: Readonly<Record<Exclude<Failure, 'STACK_UNDERFLOW' | 'INVALID_OPCODE'>, string>> = {
  OUT_OF_GAS: 'out of gas',
  STACK_OVERFLOW: 'stack limit reached 1024 (1023)',
  INVALID_JUMP: 'invalid jump destination',
  STATIC_STATE_CHANGE: 'write protection',
  INITCODE_SIZE: 'max initcode size exceeded',
  CODE_SIZE: 'max code size exceeded',
  CODE_START: 'invalid code: must not begin with 0xef',
  CODE_STORE_OUT_OF_GAS: 'contract creation code storage out of gas',
  COLLISION: 'contract address collision',
}

export function failureText(frame: Frame, table: OpcodeTable): string {
  const failure = frame.failure ?? 'OUT_OF_GAS'
  const opcode = frame.program.code[frame.pc] ?? 0
  if (failure === 'STACK_UNDERFLOW') return `stack underflow (${frame.sp} <=> ${table.takes[opcode]})`
  if (failure === 'INVALID_OPCODE') return `invalid opcode: ${opcodeName(opcode)}`
  return TEXTS[failure]
}
