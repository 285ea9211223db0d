import type { RpcContext } from '../../jsonRpc/callContext.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { takeTurn } from '../../lib/turns.ts'
import type { CallService } from '../callProcess/callProcesses.ts'
import { TooLongError } from '../evm/patience.ts'
import { executesCode, isLong, timeLimitOf } from './callLimits.ts'
import type { MethodTable } from './context.ts'
import type { RpcOptions } from './options.ts'

/** Characters of parameters that are read on the chain's own loop. */
const MAX_CHARACTERS = 65_536
/** Calls that were not short, which go elsewhere at once; forgotten with the oldest use. */
const REMEMBERED = 1_000

/**
 * Hurried methods, which go on in another process when they throw TooLongError: a small call is answered without a way
 * there and back, and none holds up the chain.
 */
export function offload(
  hurried: MethodTable,
  calls: Pick<CallService, 'run'>,
  options: Pick<RpcOptions, 'evmTimeoutMs'>,
): MethodTable {
  const knownLong = new LruMap<string, true>(REMEMBERED)
  const wrap = (name: string, handler: RpcHandler): RpcHandler => {
    const elsewhere = (params: readonly JsonValue[], context: RpcContext) =>
      calls.run(name, params, context, timeLimitOf(name, params, options))
    if (isLong(name)) return elsewhere
    const executes = executesCode(name)
    return async (params, context) => {
      const key = executes ? callKey(name, params[0]) : undefined
      if (key !== undefined && knownLong.get(key)) return elsewhere(params, context)
      if (hasMoreCharacters(params, MAX_CHARACTERS)) {
        // They are written anew, after they were read just now.
        await takeTurn('answer')
        return elsewhere(params, context)
      }
      try {
        return await handler(params, context)
      } catch (error) {
        if (!(error instanceof TooLongError)) throw error
      }
      if (key !== undefined) knownLong.set(key, true)
      return elsewhere(params, context)
    }
  }
  return Object.fromEntries(Object.entries(hurried).map(([name, handler]) => [name, wrap(name, handler)]))
}

/** The function that is called, as far as the call tells. */
function callKey(name: string, call: JsonValue | undefined): string | undefined {
  if (!isObject(call)) return undefined
  const { to, data, input } = call
  const code = typeof input === 'string' ? input : data
  if (typeof to !== 'string' || typeof code !== 'string') return undefined
  return `${name} ${to.toLowerCase().slice(0, 42)} ${code.slice(0, 10)}`
}

function hasMoreCharacters(value: JsonValue | readonly JsonValue[] | undefined, limit: number): boolean {
  let left = limit
  const take = (part: JsonValue | readonly JsonValue[] | undefined): boolean => {
    left -= typeof part === 'string' ? part.length : 8
    if (left < 0) return true
    if (typeof part !== 'object' || part === null) return false
    for (const name in part) {
      left -= name.length
      if (take((part as Record<string, JsonValue>)[name])) return true
    }
    return false
  }
  return take(value)
}
