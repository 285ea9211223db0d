import { isBatchRefusal, type RequestOptions, type RpcCall, type RpcClient } from '../../jsonRpc/client.ts'
import { JsonRpcError, type JsonValue } from '../../jsonRpc/types.ts'
import type { Hex } from '../../lib/hex.ts'
import { isObject } from '../../lib/jsonReader.ts'

/** The calls of one block. */
export interface BuildCalls {
  forkchoice: RpcCall
  /** With the id that geth, and whoever follows it, will give the block. */
  payload: RpcCall
  expectedId: Hex
}

type Answer = JsonValue | JsonRpcError

/**
 * A block without transactions of the pool is complete as soon as it is started: it is fetched in the request that starts it,
 * which may also be the one that gives the engine the block before. Only an engine that confirms the expected id is
 * believed. One that gives others, or works on the calls of a batch side by side, is asked call by call from then on.
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
    const answers = await this.batch([forkchoice, payload], options)
    if (answers === undefined) return this.rpc.request(forkchoice.method, forkchoice.params, options)
    const [started, answer] = answers
    if (started instanceof JsonRpcError) throw started
    if (idIn(started) !== undefined) this.keep(started, answer, expectedId)
    return started
  }

  /** The answers to the block before and to the forkchoice update; undefined: nothing was done, the engine takes no batches. */
  async startOn(
    insert: RpcCall,
    { forkchoice, payload, expectedId }: BuildCalls,
    options: RequestOptions,
  ): Promise<{ inserted: Answer | undefined; started: Answer | undefined } | undefined> {
    const answers = await this.batch([insert, forkchoice, payload], options)
    if (answers === undefined) return undefined
    const [inserted, started, answer] = answers
    // An engine that took the block but did not know it as a head has not waited for the one before the other.
    const isStarted = memberOf(inserted, 'status') === 'VALID' && !(started instanceof JsonRpcError)
    if (isStarted) this.keep(started, answer, expectedId)
    return { inserted, started }
  }

  /** What `engine_getPayload` answered, when the block was fetched with its start. Given out once. */
  take(id: Hex): JsonValue | undefined {
    const { fetched } = this
    this.fetched = undefined
    return fetched?.id === id ? fetched.answer : undefined
  }

  private async batch(calls: readonly RpcCall[], options: RequestOptions): Promise<Answer[] | undefined> {
    this.fetched = undefined
    try {
      return await this.rpc.batch(calls, options)
    } catch (error) {
      if (!isBatchRefusal(error)) throw error
      this.isPossible = false
      return undefined
    }
  }

  private keep(started: JsonValue | undefined, answer: Answer | undefined, expectedId: Hex): void {
    if (idIn(started) === expectedId && answer !== undefined && !(answer instanceof JsonRpcError)) {
      this.fetched = { id: expectedId, answer }
    } else {
      this.isPossible = false
    }
  }
}

const idIn = (started: JsonValue | undefined): JsonValue | undefined => memberOf(started, 'payloadId') ?? undefined

function memberOf(answer: Answer | undefined, name: string): JsonValue | undefined {
  return answer instanceof JsonRpcError || !isObject(answer) ? undefined : answer[name]
}
