import { fromHex } from '../../lib/hex.ts'

/** EIP-7702: the designator that stands for the delegate's code, before its address. */
export const DELEGATION_PREFIX = fromHex('0xef0100')

export function isDelegation(code: Uint8Array): boolean {
  return code.length === 23 && code[0] === 0xef && code[1] === 0x01 && code[2] === 0x00
}
