import type { RpcHandler } from '../../jsonRpc/server.ts'
import { JsonRpcError, type JsonValue, RPC_INVALID_PARAMS } from '../../jsonRpc/types.ts'
import { timedOutAfter, timeLimitOf } from '../rpc/callLimits.ts'
import type { MethodTable } from '../rpc/context.ts'
import type { RpcOptions } from '../rpc/options.ts'

/** Characters of the parameters of a call that the program itself runs: a transaction of 128 kB, and what stands beside it. */
const MAX_ASKED_CHARACTERS = 512 * 1024

/** Has the program answer a request, and returns its answer as JSON text. */
export type AskProgram = (request: string) => Promise<string>

/** The named methods: those that only read run here, each within its time, and the program is asked for the others. */
export function bodyMethods(
  names: readonly string[],
  reads: MethodTable,
  ask: AskProgram,
  options: Pick<RpcOptions, 'evmTimeoutMs'>,
): ReadonlyMap<string, RpcHandler> {
  const table = new Map<string, RpcHandler>()
  for (const name of names) {
    const read = reads[name]
    table.set(name, read === undefined ? asked(name, ask) : timed(read, (params) => timeLimitOf(name, params, options)))
  }
  return table
}

function asked(method: string, ask: AskProgram): RpcHandler {
  return async (params) => {
    const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    if (request.length > MAX_ASKED_CHARACTERS) {
      const text = `parameters of ${method}: expected at most ${MAX_ASKED_CHARACTERS} characters, got ${request.length}`
      throw new JsonRpcError(RPC_INVALID_PARAMS, text)
    }
    const { result, error } = JSON.parse(await ask(request)) as ProgramAnswer
    if (error === undefined) return result
    throw new JsonRpcError(error.code, error.message, error.data === undefined ? {} : { data: error.data })
  }
}

/** As the program's own dispatcher writes it. */
interface ProgramAnswer {
  result?: JsonValue
  error?: { code: number; message: string; data?: JsonValue }
}

function timed(handler: RpcHandler, limitOf: (params: readonly JsonValue[]) => number): RpcHandler {
  return async (params, context) => {
    const timeoutMs = limitOf(params)
    if (timeoutMs === 0) return handler(params, context)
    const time = new AbortController()
    const timer = setTimeout(() => time.abort(timedOutAfter(timeoutMs)), timeoutMs)
    try {
      const signal = AbortSignal.any([context.signal, time.signal])
      return await handler(params, { signal, isOver: () => signal.aborted })
    } finally {
      clearTimeout(timer)
    }
  }
}
