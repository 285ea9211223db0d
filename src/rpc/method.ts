import type { z } from 'zod'
import type { RpcContext } from '../jsonRpc/callContext.ts'
import type { RpcHandler } from '../jsonRpc/server.ts'
import { DecodeError, describeError } from '../lib/errors.ts'
import { invalidArgument, type Param, type ParamValues, parseParams } from './params.ts'
import type { Result, Served, Written } from './results.ts'

/**
 * One row of the method table. The router, the parameter checks, the documents and the client's types are derived from
 * it.
 */
export interface RpcMethod<
  Name extends string = string,
  P extends readonly Param<unknown, unknown>[] = readonly Param<unknown, unknown>[],
  S extends z.ZodType = z.ZodType,
> {
  /** Namespace and name as on the wire. */
  name: Name
  params: P
  /** Description and schema of the result. */
  result: Result<S>
  description: string
  /** Served only when admin methods are enabled, and never to web pages of other origins. */
  admin: boolean
  /**
   * The method changes something. Web pages of other origins, and clients without a required token, may not call it.
   */
  changes: boolean
  handler: RpcHandler
}

export interface MethodSpec<Name extends string, P extends readonly Param<unknown, unknown>[], S extends z.ZodType> {
  name: Name
  params: P
  result: Result<S>
  description: string
  admin?: boolean
  /** Defaults to `admin`. An admin method that only reads sets it to false. */
  changes?: boolean
  handle: (params: ParamValues<P>, context: RpcContext) => Answer<z.output<S>> | Promise<Answer<z.output<S>>>
}

/** A handler whose result is null returns nothing. */
type Answer<T> = Served<T> | Written<Served<T>> | ([T] extends [null] ? Awaited<Promise<void>> : never)

export function defineMethod<
  const Name extends string,
  const P extends readonly Param<unknown, unknown>[],
  S extends z.ZodType,
>(spec: MethodSpec<Name, P, S>): RpcMethod<Name, P, S> {
  const { name, params, result, description, admin = false, changes = admin, handle } = spec
  return {
    name,
    params,
    result,
    description,
    admin,
    changes,
    handler: async (given, context) => {
      const values = parseParams(params, given)
      try {
        return await handle(values, context)
      } catch (error) {
        // A callee that parses the only argument itself throws an error about that argument.
        if (error instanceof DecodeError && params.length === 1) throw invalidArgument(0, describeError(error))
        throw error
      }
    },
  }
}

/** The table in the dispatcher's form. A duplicate name is a programming error. */
export function toHandlers(methods: readonly RpcMethod[]): Map<string, RpcHandler> {
  const handlers = new Map<string, RpcHandler>()
  for (const { name, handler } of methods) {
    if (handlers.has(name)) throw new Error(`RPC method ${name} is defined twice`)
    handlers.set(name, handler)
  }
  return handlers
}
