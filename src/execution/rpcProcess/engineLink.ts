import { StreamedJson } from '../../jsonRpc/bodyChunks.ts'
import type { RpcContext } from '../../jsonRpc/callContext.ts'
import { JsonRpcError, type JsonValue, RPC_INVALID_PARAMS } from '../../jsonRpc/types.ts'
import type { Hex } from '../../lib/hex.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { HeadChange } from '../chain/types.ts'
import type { BlockHeader, SignedTransaction } from '../primitives/block.ts'
import type { FromRpcProcess, ToRpcProcess } from './messages.ts'

/** Most characters of a request to the engine process. A transaction of 128 kB fits. */
const MAX_REQUEST_CHARACTERS = 512 * 1024

/** As the engine process's dispatcher writes it. */
interface EngineAnswer {
  result?: JsonValue
  error?: { code: number; message: string; data?: JsonValue }
}

interface AnswerPart {
  text: string
  isEnd: boolean
}

/** The first characters of the dispatcher's answer to a request with this id. */
const ID = 1
const RESULT_HEAD = `{"jsonrpc":"2.0","id":${ID},"result":`

/**
 * The RPC process's side of the channel to the engine process: requests, and subscriptions to heads and transactions.
 */
export class EngineLink {
  private readonly send: (message: FromRpcProcess) => void
  private readonly requests = new Map<number, (part: AnswerPart) => void>()
  private readonly headListeners = new Set<(change: HeadChange) => void>()
  private readonly transactionListeners = new Set<(transaction: SignedTransaction) => void>()
  private lastId = 0

  constructor(send: (message: FromRpcProcess) => void) {
    this.send = send
  }

  /**
   * Runs a method in the engine process. Throws its JsonRpcError, or the signal's reason when the client disconnects.
   */
  async request(method: string, params: readonly JsonValue[], context: Pick<RpcContext, 'signal'>): Promise<JsonValue> {
    let text = ''
    for await (const part of this.parts(method, params, context)) text += part
    return resultOf(text)
  }

  /** Like `request`, for an answer of any length. The engine process sends parts as fast as the client reads. */
  requestStream(method: string, params: readonly JsonValue[], context: Pick<RpcContext, 'signal'>): StreamedJson {
    return new StreamedJson(this.resultParts(method, params, context))
  }

  private async *resultParts(...call: Parameters<EngineLink['request']>): AsyncGenerator<string> {
    let before = ''
    for await (const part of this.parts(...call)) {
      if (before === '') {
        if (!part.startsWith(RESULT_HEAD)) resultOf(part)
        before = part.slice(RESULT_HEAD.length)
      } else {
        yield before
        before = part
      }
    }
    yield before.slice(0, -1)
  }

  /** The parts of the answer's text. */
  private async *parts(
    method: string,
    params: readonly JsonValue[],
    { signal }: Pick<RpcContext, 'signal'>,
  ): AsyncGenerator<string> {
    const request = JSON.stringify({ jsonrpc: '2.0', id: ID, method, params })
    if (request.length > MAX_REQUEST_CHARACTERS) {
      const text = `parameters of ${method}: expected at most ${MAX_REQUEST_CHARACTERS} characters, got ${request.length}`
      throw new JsonRpcError(RPC_INVALID_PARAMS, text)
    }
    const id = ++this.lastId
    const nextPart = () => new Promise<AnswerPart>((resolve) => this.requests.set(id, resolve))
    let isEnded = false
    try {
      let next = nextPart()
      this.send({ kind: 'request', id, request })
      while (!isEnded) {
        const part = await untilAborted(next, signal)
        isEnded = part.isEnd
        next = nextPart()
        yield part.text
        if (!isEnded) this.send({ kind: 'more', id })
      }
    } finally {
      this.requests.delete(id)
      if (!isEnded) this.send({ kind: 'cancel', id })
    }
  }

  onHead(listener: (change: HeadChange) => void): () => void {
    return this.subscribe(this.headListeners, listener)
  }

  onAdded(listener: (transaction: SignedTransaction) => void): () => void {
    return this.subscribe(this.transactionListeners, listener)
  }

  take(
    message: Extract<ToRpcProcess, { kind: 'answer' | 'head' | 'transaction' }>,
    header: (hash: Hex) => BlockHeader | undefined,
  ): void {
    if (message.kind === 'answer') {
      this.requests.get(message.id)?.(message)
    } else if (message.kind === 'transaction') {
      for (const listener of this.transactionListeners) listener(message.transaction)
    } else {
      const headersOf = (hashes: Hex[]) => hashes.map(header).filter((found) => found !== undefined)
      const [removed, added] = [headersOf(message.removed), headersOf(message.added)]
      const head = header(message.head)
      // An old block may not be in the database any more.
      if (head !== undefined) for (const listener of this.headListeners) listener({ head, removed, added })
    }
  }

  private subscribe<T>(listeners: Set<T>, listener: T): () => void {
    listeners.add(listener)
    this.sendSubscriptions()
    return () => {
      listeners.delete(listener)
      this.sendSubscriptions()
    }
  }

  private sendSubscriptions(): void {
    this.send({
      kind: 'subscribe',
      heads: this.headListeners.size > 0,
      transactions: this.transactionListeners.size > 0,
    })
  }
}

function resultOf(text: string): JsonValue {
  const { result = null, error } = JSON.parse(text) as EngineAnswer
  if (error === undefined) return result
  throw new JsonRpcError(error.code, error.message, error.data === undefined ? {} : { data: error.data })
}
