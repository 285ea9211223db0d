import { invalidParams, JsonRpcError, type JsonValue } from '../jsonRpc/types.ts'
import { describeError } from '../lib/errors.ts'
import { type Hex, isHex, lowerHex, quantityToNumber } from '../lib/hex.ts'

/** A JSON Schema, as far as this room uses it. */
export type JsonSchema = { [key: string]: JsonValue }

/**
 * One positional parameter: its name and form for the documentation, and the check that makes it a typed value. `Wire`
 * is its type in client code.
 */
export interface Param<T, Wire = unknown> {
  name: string
  /** The expected value as a noun. Shown in errors and in the method list. */
  expects: string
  /** The expected value as a JSON Schema. */
  schema: JsonSchema
  /** Throws any error; the message must say what is wrong. */
  parse(value: JsonValue): T
  optional?: boolean
  /** Only its type is used. */
  wire?: Wire
}

export interface OptionalParam<T, Wire> extends Param<T, Wire> {
  optional: true
}

export type ParamValues<P extends readonly Param<unknown, unknown>[]> = {
  [K in keyof P]: P[K] extends Param<infer T, unknown> ? T : never
}

/** The parameters' types in client code. */
export type WireValues<P extends readonly Param<unknown, unknown>[]> = P extends readonly [
  infer First extends Param<unknown, unknown>,
  ...infer Rest extends readonly Param<unknown, unknown>[],
]
  ? First extends OptionalParam<unknown, infer Wire>
    ? [value?: Wire, ...WireValues<Rest>]
    : First extends Param<unknown, infer Wire>
      ? [value: Wire, ...WireValues<Rest>]
      : never
  : []

const MAX_TEXT_LENGTH = 4096

/** Block number as hex quantity text, the form of op-node and of the product's own document. */
export function blockNumberParam(name: string, what = 'a block number'): Param<number, Hex> {
  return {
    name,
    expects: `${what} as hex text such as "0x10"`,
    schema: { type: 'string', pattern: '^0x(0|[1-9a-fA-F][0-9a-fA-F]*)$' },
    parse: (value) => quantityToNumber(value, name),
  }
}

/** Unix seconds, as a number or as hex quantity text. */
export function timestampParam(name: string): Param<number, number | Hex> {
  return {
    name,
    expects: 'Unix seconds, as a number or as hex text such as "0x10"',
    schema: { type: ['integer', 'string'], minimum: 0, pattern: '^0x(0|[1-9a-fA-F][0-9a-fA-F]*)$' },
    parse(value) {
      if (typeof value !== 'number') return quantityToNumber(value, name)
      return Number.isSafeInteger(value) && value >= 0 ? value : wrongType()
    },
  }
}

/** Unix milliseconds. */
export function momentParam(name: string): Param<number, number> {
  return {
    name,
    expects: 'Unix milliseconds, as a whole number',
    schema: { type: 'integer', minimum: 0 },
    parse: (value) => (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : wrongType()),
  }
}

/** Go's clients may encode false as null. */
export function booleanParam(name: string): Param<boolean, boolean> {
  const parse = (value: JsonValue) => (typeof value === 'boolean' ? value : value === null ? false : wrongType())
  return { name, expects: 'true or false', schema: { type: ['boolean', 'null'] }, parse }
}

export function hashParam(name: string): Param<Hex, Hex> {
  const parse = (value: JsonValue) => (isHex(value, 32) ? lowerHex(value) : wrongType())
  const schema = { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' }
  return { name, expects: 'a block hash: 32 bytes of hex with 0x prefix', schema, parse }
}

/** Text that the callee parses (peer ids, IPs, multiaddresses). Only its length is checked here. */
export function textParam(name: string, expects: string): Param<string, string> {
  const parse = (value: JsonValue) => {
    if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT_LENGTH) return wrongType()
    return value
  }
  return { name, expects, schema: { type: 'string', minLength: 1, maxLength: MAX_TEXT_LENGTH }, parse }
}

/** Any JSON value; `parse` validates it. */
export function jsonParam<T, Wire = JsonValue>(
  name: string,
  expects: string,
  schema: JsonSchema,
  parse: (value: JsonValue) => T,
): Param<T, Wire> {
  return { name, expects, schema, parse }
}

export function optionalParam<T, Wire>(inner: Param<T, Wire>): OptionalParam<T | undefined, Wire> {
  return { ...inner, parse: (value) => (value === null ? undefined : inner.parse(value)), optional: true }
}

/** For a check: its error is built from the parameter's name and `expects`. */
export function wrongType(): never {
  throw new WrongType()
}

class WrongType extends Error {}

/** Validates positional parameters. Every error is a JsonRpcError -32602 with a full sentence. */
export function parseParams<P extends readonly Param<unknown, unknown>[]>(
  specs: P,
  given: readonly JsonValue[],
): ParamValues<P> {
  if (given.length > specs.length) throw invalidParams(`too many arguments, want at most ${specs.length}`)
  const values = specs.map((spec, index) => {
    const value = given[index]
    if (value === undefined) {
      if (spec.optional) return undefined
      throw invalidParams(`missing value for required argument ${index}: ${spec.name} should be ${spec.expects}`)
    }
    try {
      return spec.parse(value)
    } catch (error) {
      if (error instanceof JsonRpcError) throw error
      throw invalidArgument(
        index,
        error instanceof WrongType ? `${spec.name} should be ${spec.expects}` : describeError(error),
      )
    }
  })
  // TypeScript cannot derive the tuple type through map().
  return values as ParamValues<P>
}

export function invalidArgument(index: number, message: string) {
  return invalidParams(`invalid argument ${index}: ${message}`)
}
