import { DecodeError } from '../lib/errors.ts'

export function asHexText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new DecodeError(`${what}: expected hex text`)
  return value
}

/** JSON-RPC answers leave absent members out or set them to null. */
export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}
