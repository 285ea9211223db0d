import type { Hex } from '../../lib/hex.ts'
import { isBatchRefusal, type RequestOptions, type RpcCall, type RpcClient } from '../../lib/jsonRpc/client.ts'
import { JsonRpcError, type JsonValue } from '../../lib/jsonRpc/types.ts'

/** The calls of one block. */
export interface BuildCalls {
  forkchoice: RpcCall
  /** With the id that geth, and whoever follows it, will give the block. */
  payload: RpcCall
  expectedId: Hex
}

/**
 * A block without transactions of the pool is complete as soon as it is started: it is fetched in the request that starts it. Only an
 * engine that confirms the expected id is believed. One that gives others, or works on the calls of a batch side by side, is asked
 * call by call from then on.
 */
export class EarlyPayload {
  /** False once the engine has shown that it does not go this way. */
  isPossible = true
  private readonly rpc: RpcClient
  private fetched: { id: Hex; answer: JsonValue } | undefined

  constructor(rpc: RpcClient) {
    this.rpc = rpc
  }

  /** The answer to the forkchoice update. */
  async start({ forkchoice, payload, expectedId }: BuildCalls, options: RequestOptions): Promise<unknown> {
    this.fetched = undefined
    let answers: (JsonValue | JsonRpcError)[]
    try {
      answers = await this.rpc.batch([forkchoice, payload], options)
    } catch (error) {
      if (!isBatchRefusal(error)) throw error
      this.isPossible = false
      return this.rpc.request(forkchoice.method, forkchoice.params, options)
    }
    const [started, answer] = answers
    if (started instanceof JsonRpcError) throw started
    if (idIn(started) === undefined) return started
    if (idIn(started) === expectedId && answer !== undefined && !(answer instanceof JsonRpcError)) {
      this.fetched = { id: expectedId, answer }
    } else {
      this.isPossible = false
    }
    return started
  }

  /** What `engine_getPayload` answered, when the block was fetched with its start. Given out once. */
  take(id: Hex): JsonValue | undefined {
    const { fetched } = this
    this.fetched = undefined
    return fetched?.id === id ? fetched.answer : undefined
  }
}

function idIn(started: JsonValue | undefined): JsonValue | undefined {
  if (typeof started !== 'object' || started === null || Array.isArray(started)) return undefined
  return started.payloadId ?? undefined
}
