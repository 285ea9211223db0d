import { z } from 'zod'
import type { WrittenJson } from '../jsonRpc/bodyChunks.ts'
import type { JsonSchema } from './params.ts'

/** The result of a method: a text for readers, and a schema of the JSON that clients receive. */
export interface Result<S extends z.ZodType = z.ZodType> {
  text: string
  schema: S
}

/** null: the method performs an action and returns nothing. */
export const NOTHING = result('null', z.null())

/** `text`: the members, or their meaning. */
export function result<S extends z.ZodType>(text: string, schema: S): Result<S> {
  return { text, schema }
}

export function booleanResult(what?: string) {
  return result(described('boolean', what), z.boolean())
}

export function textResult(what?: string) {
  return result(described('string', what), z.string())
}

export function eitherResult<S extends z.ZodType>(what: string, schema: S) {
  return result(`object: ${what}`, z.union([schema, z.array(schema)]))
}

/** The JSON Schema for clients in other languages; cached. */
export function jsonSchemaOf({ schema }: Pick<Result, 'schema'>): JsonSchema {
  let made = jsonSchemas.get(schema)
  if (made === undefined) {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    // Its type allows non-JSON values, which its JSON text never contains.
    made = JSON.parse(JSON.stringify(rest)) as JsonSchema
    jsonSchemas.set(schema, made)
  }
  return made
}
const jsonSchemas = new WeakMap<z.ZodType, JsonSchema>()

/** The type to serve for a client type T: integers may be bigint, and arrays read-only. */
export type Served<T> = T extends number
  ? number | bigint
  : T extends object
    ? { readonly [K in keyof T]: Served<T[K]> }
    : T

/** JSON text of a T, already serialized. */
export type Written<T> = WrittenJson & { readonly writes?: T }

function described(type: string, what: string | undefined): string {
  return what === undefined ? type : `${type}: ${what}`
}
