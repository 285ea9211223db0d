import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'

export function withoutLeadingZeros(value: Uint8Array): Uint8Array {
  let start = 0
  while (start < value.length && value[start] === 0) start++
  return start === 0 ? value : start === value.length ? EMPTY_BYTES : value.subarray(start)
}

/** A slot's value as 32 bytes of hex. */
export function storageWord(value: Uint8Array): Hex {
  return `0x${toHex(value).slice(2).padStart(64, '0')}`
}

/** A 32-byte word without leading zeros. */
export function slotValue(word: Hex): Uint8Array {
  return withoutLeadingZeros(fromHex(word, 32, 'storage value'))
}
