import { DecodeError, describeError } from '../lib/errors.ts'
import type { RpcContext } from '../lib/jsonRpc/callContext.ts'
import type { RpcHandler } from '../lib/jsonRpc/server.ts'
import { invalidArgument, type Param, type ParamValues, parseParams } from './params.ts'
import type { Result } from './results.ts'

/** One row of the method table: router, parameter checks and the method list all come from it. */
export interface RpcMethod {
  /** Namespace and name as on the wire. */
  name: string
  params: readonly Param<unknown>[]
  /** What `result` holds. */
  result: Result
  description: string
  /** Served only when admin methods are enabled. */
  admin: boolean
  /** Not for strangers' web pages: it does more than tell. */
  changes: boolean
  handler: RpcHandler
}

export interface MethodSpec<P extends readonly Param<unknown>[]> {
  name: string
  params: P
  result: Result
  description: string
  admin?: boolean
  /** By default what `admin` is. */
  changes?: boolean
  handle: (params: ParamValues<P>, context: RpcContext) => unknown
}

export function defineMethod<const P extends readonly Param<unknown>[]>(spec: MethodSpec<P>): RpcMethod {
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
        // A callee that reads the text of the only argument itself speaks of that argument.
        if (error instanceof DecodeError && params.length === 1) throw invalidArgument(0, describeError(error))
        throw error
      }
    },
  }
}

/** The table as the dispatcher wants it. A name that appears twice is a mistake of ours. */
export function toHandlers(methods: readonly RpcMethod[]): Map<string, RpcHandler> {
  const handlers = new Map<string, RpcHandler>()
  for (const { name, handler } of methods) {
    if (handlers.has(name)) throw new Error(`RPC method ${name} is defined twice`)
    handlers.set(name, handler)
  }
  return handlers
}
