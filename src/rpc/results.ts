import { z } from 'zod'
import type { WrittenJson } from '../jsonRpc/bodyChunks.ts'
import type { JsonSchema } from './params.ts'

/** What a method returns: for people, and for programs. `schema` says what clients read. */
export interface Result<S extends z.ZodType = z.ZodType> {
  text: string
  schema: S
}

/** null: the method does something, and tells no more than that it is done. */
export const NOTHING = result('null', z.null())

/** `text`: its members, or what they tell of. */
export function result<S extends z.ZodType>(text: string, schema: S): Result<S> {
  return { text, schema }
}

export function booleanResult(what?: string) {
  return result(described('boolean', what), z.boolean())
}

export function textResult(what?: string) {
  return result(described('string', what), z.string())
}

/** One of all, or all of them. */
export function eitherResult<S extends z.ZodType>(what: string, schema: S) {
  return result(`object: ${what}`, z.union([schema, z.array(schema)]))
}

/** The schema as clients of other languages read it; made once. */
export function jsonSchemaOf({ schema }: Pick<Result, 'schema'>): JsonSchema {
  let made = jsonSchemas.get(schema)
  if (made === undefined) {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    // Its type allows what is no JSON, which the text of one never holds.
    made = JSON.parse(JSON.stringify(rest)) as JsonSchema
    jsonSchemas.set(schema, made)
  }
  return made
}
const jsonSchemas = new WeakMap<z.ZodType, JsonSchema>()

/** What may be served where clients read T: integers may be bigint, and lists read-only. */
export type Served<T> = T extends number
  ? number | bigint
  : T extends object
    ? { readonly [K in keyof T]: Served<T[K]> }
    : T

/** JSON of T that is written already. */
export type Written<T> = WrittenJson & { readonly writes?: T }

function described(type: string, what: string | undefined): string {
  return what === undefined ? type : `${type}: ${what}`
}
