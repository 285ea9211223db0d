import { DecodeError } from '../lib/errors.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DecodeError(`${what}: expected an object`)
  }
  return value as JsonObject
}

export function asArray(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new DecodeError(`${what}: expected a list`)
  return value
}

export function asHexText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new DecodeError(`${what}: expected hex text`)
  return value
}

/** JSON-RPC answers leave absent members out or set them to null. */
export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}
