import { fromHex } from '../../lib/hex.ts'

/** EIP-7702: the prefix of a delegation designator. The delegate's address follows it. */
export const DELEGATION_PREFIX = fromHex('0xef0100')

export function isDelegation(code: Uint8Array): boolean {
  return code.length === 23 && code[0] === 0xef && code[1] === 0x01 && code[2] === 0x00
}
