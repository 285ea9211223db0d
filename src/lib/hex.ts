import { bytesToText } from './bytes.ts'
import { DecodeError } from './errors.ts'

/** Hex text with the `0x` prefix, lower case wherever this code base produces it. */
export type Hex = `0x${string}`

/** Lower-case hex of the bytes, with prefix. */
export function toHex(bytes: Uint8Array): Hex {
  return `0x${bytesToText(bytes, 'hex')}`
}

/**
 * Bytes of hex text (prefix optional). Throws DecodeError on a bad digit, odd length, or another length than
 * `expectedBytes`; `what` names the value in the message. (Buffer.from alone stops silently at the first bad digit.)
 */
export function fromHex(text: string, expectedBytes?: number, what = 'hex string'): Uint8Array {
  const digits = text.startsWith('0x') || text.startsWith('0X') ? text.slice(2) : text
  if (digits.length % 2 !== 0) throw new DecodeError(`${what}: odd number of hex digits`)
  const buffer = Buffer.from(digits, 'hex')
  if (buffer.length * 2 !== digits.length) throw new DecodeError(`${what}: not hex`)
  if (expectedBytes !== undefined && buffer.length !== expectedBytes) {
    throw new DecodeError(`${what}: expected ${expectedBytes} bytes, got ${buffer.length}`)
  }
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}

const HEX_PATTERN = /^0x[0-9a-fA-F]*$/

export function isHex(value: unknown, bytes?: number): value is Hex {
  return typeof value === 'string' && HEX_PATTERN.test(value) && (bytes === undefined || value.length === 2 + bytes * 2)
}

/** The form in which hashes and addresses are compared and stored; `toLowerCase` does not say that it is hex, too. */
export function lowerHex(value: Hex): Hex {
  return value.toLowerCase() as Hex
}

/** Checked, lower-cased hex of a fixed length: the form in which hashes and addresses are compared and stored. */
export function normalizeHex(value: unknown, bytes: number, what: string): Hex {
  if (!isHex(value, bytes))
    throw new DecodeError(`${what}: expected ${bytes} bytes of hex with 0x prefix, got ${show(value)}`)
  return lowerHex(value)
}

/** JSON-RPC quantity: `0x` and no leading zeros. */
export function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

/** Reads a JSON-RPC quantity (leading zeros tolerated) as bigint. */
export function quantityToBigInt(value: unknown, what = 'quantity'): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) {
    throw new DecodeError(`${what}: expected a hex quantity, got ${show(value)}`)
  }
  return BigInt(value)
}

/** Reads a JSON-RPC quantity that must fit a JavaScript integer (block numbers, timestamps, indices). */
export function quantityToNumber(value: unknown, what = 'quantity'): number {
  const big = quantityToBigInt(value, what)
  if (big > BigInt(Number.MAX_SAFE_INTEGER)) throw new DecodeError(`${what}: ${value} is larger than 2^53-1`)
  return Number(big)
}

/** A JSON value in an error's message; one that may be long by its kind. */
export function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  const text = typeof value === 'string' ? `"${value}"` : String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
