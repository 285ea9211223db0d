import type { JsonSchema } from './params.ts'

/** What a method returns: for people and, as far as it is said there, for programs. */
export interface Result {
  text: string
  schema: JsonSchema
}

/** null: the method does something, and tells no more than that it is done. */
export const NOTHING: Result = { text: 'null', schema: { type: 'null' } }

export function booleanResult(what?: string): Result {
  return { text: described('boolean', what), schema: { type: 'boolean' } }
}

export function textResult(what?: string): Result {
  return { text: described('string', what), schema: { type: 'string' } }
}

/** `what`: its members, or what they tell of. */
export function objectResult(what: string): Result {
  return { text: described('object', what), schema: { type: 'object' } }
}

/** `what`: its members. */
export function arrayResult(what: string): Result {
  return { text: `array of ${what}`, schema: { type: 'array' } }
}

/** One object, or an array of many. */
export function eitherResult(what: string): Result {
  return { text: described('object', what), schema: { type: ['object', 'array', 'null'] } }
}

function described(type: string, what: string | undefined): string {
  return what === undefined ? type : `${type}: ${what}`
}
