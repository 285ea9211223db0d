import { DecodeError } from './errors.ts'
import { fromHex, type Hex, normalizeHex, quantityToBigInt, quantityToNumber, show } from './hex.ts'

export type JsonObject = { [name: string]: JsonValue | undefined }
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject

/**
 * Typed access to the members of one JSON object. `null` counts as absent. Every error is a DecodeError that names the
 * member by its path.
 */
export class JsonObjectReader {
  readonly path: string
  private readonly members: JsonObject

  constructor(json: unknown, path: string) {
    this.members = asObject(json, path)
    this.path = path
  }

  has(name: string): boolean {
    return this.value(name) !== undefined
  }

  names(): string[] {
    return Object.keys(this.members)
  }

  /** The unchecked value; undefined if absent or null. */
  raw(name: string): JsonValue | undefined {
    return this.value(name)
  }

  object(name: string): JsonObjectReader {
    return this.optionalObject(name) ?? this.missing(name)
  }

  optionalObject(name: string): JsonObjectReader | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : new JsonObjectReader(value, this.pathOf(name))
  }

  array(name: string): JsonValue[] {
    return this.optionalArray(name) ?? this.missing(name)
  }

  optionalArray(name: string): JsonValue[] | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : asArray(value, this.pathOf(name))
  }

  /** A JSON integer from 0 to 2^53-1. */
  integer(name: string): number {
    return this.optionalInteger(name) ?? this.missing(name)
  }

  optionalInteger(name: string): number | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw unexpected(this.pathOf(name), 'a non-negative integer', value)
    }
    return value
  }

  /** A JSON integer, or text in decimal or 0x-hex for larger values. */
  bigint(name: string): bigint {
    return this.optionalBigint(name) ?? this.missing(name)
  }

  optionalBigint(name: string): bigint | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value === 'string' && /^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/.test(value)) return BigInt(value)
    return BigInt(this.integer(name))
  }

  /** Lower-cased hex of exactly `bytes` bytes. */
  hex(name: string, bytes: number): Hex {
    return this.optionalHex(name, bytes) ?? this.missing(name)
  }

  optionalHex(name: string, bytes: number): Hex | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : normalizeHex(value, bytes, this.pathOf(name))
  }

  /** Decodes hex to bytes. Any length is accepted unless `length` is given. */
  bytes(name: string, length?: number): Uint8Array {
    return jsonBytes(this.value(name) ?? this.missing(name), this.pathOf(name), length)
  }

  /** A `0x` quantity up to 2^53-1. */
  quantityNumber(name: string): number {
    return quantityToNumber(this.value(name) ?? this.missing(name), this.pathOf(name))
  }

  /** A `0x` quantity. */
  quantity(name: string): bigint {
    return quantityToBigInt(this.value(name) ?? this.missing(name), this.pathOf(name))
  }

  optionalQuantity(name: string): bigint | undefined {
    return this.value(name) === undefined ? undefined : this.quantity(name)
  }

  optionalString(name: string): string | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw unexpected(this.pathOf(name), 'text', value)
    return value
  }

  optionalBoolean(name: string): boolean | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value !== 'boolean') throw unexpected(this.pathOf(name), 'true or false', value)
    return value
  }

  pathOf(name: string): string {
    return `${this.path}.${name}`
  }

  private value(name: string): JsonValue | undefined {
    if (!Object.hasOwn(this.members, name)) return undefined
    return this.members[name] ?? undefined
  }

  private missing(name: string): never {
    throw new DecodeError(`${this.pathOf(name)}: missing`)
  }
}

/** Decodes `0x` hex text. Any length is accepted unless `length` is given. */
export function jsonBytes(value: unknown, what: string, length?: number): Uint8Array {
  if (typeof value !== 'string' || !value.startsWith('0x')) throw unexpected(what, 'hex with 0x prefix', value)
  return fromHex(value, length, what)
}

export function asObject(value: unknown, what: string): JsonObject {
  if (!isObject(value)) throw unexpected(what, 'an object', value)
  return value
}

export function asArray(value: unknown, what: string): JsonValue[] {
  if (!Array.isArray(value)) throw unexpected(what, 'an array', value)
  return value
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unexpected(what: string, expected: string, value: unknown): DecodeError {
  return new DecodeError(`${what}: expected ${expected}, got ${show(value)}`)
}
