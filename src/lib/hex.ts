import { bytesToText } from './bytes.ts'
import { DecodeError } from './errors.ts'

/** Hex text with the `0x` prefix. This code base always produces lower case. */
export type Hex = `0x${string}`

export function toHex(bytes: Uint8Array): Hex {
  return `0x${bytesToText(bytes, 'hex')}`
}

/**
 * Decodes hex text; the prefix is optional. Throws DecodeError on a bad digit, an odd length, or a length other than
 * `expectedBytes`. `what` names the value in the message. (`Buffer.from` alone stops silently at the first bad digit.)
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

/**
 * Lower case: the form in which hashes and addresses are compared and stored. Unlike `toLowerCase`, it keeps the type
 * `Hex`.
 */
export function lowerHex(value: Hex): Hex {
  return value.toLowerCase() as Hex
}

/**
 * Checks hex of a fixed length and converts it to lower case. Hashes and addresses are compared and stored in this
 * form.
 */
export function normalizeHex(value: unknown, bytes: number, what: string): Hex {
  if (!isHex(value, bytes))
    throw new DecodeError(`${what}: expected ${bytes} bytes of hex with 0x prefix, got ${show(value)}`)
  return lowerHex(value)
}

/** JSON-RPC quantity: `0x` and no leading zeros. */
export function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

/** Parses a JSON-RPC quantity as bigint. Leading zeros are accepted. */
export function quantityToBigInt(value: unknown, what = 'quantity'): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) {
    throw new DecodeError(`${what}: expected a hex quantity, got ${show(value)}`)
  }
  return BigInt(value)
}

/** Parses a JSON-RPC quantity that must fit a JavaScript integer (block number, timestamp, index). */
export function quantityToNumber(value: unknown, what = 'quantity'): number {
  return toSafeNumber(quantityToBigInt(value, what), what)
}

/** Throws DecodeError if a JavaScript number cannot represent the value and all lower ones exactly. */
export function toSafeNumber(value: bigint, what: string): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new DecodeError(`${what}: ${value} is larger than 2^53-1`)
  return Number(value)
}

/** Shows a JSON value in an error message. Lists and objects are named by their kind, because they may be long. */
export function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  const text = typeof value === 'string' ? `"${value}"` : String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
