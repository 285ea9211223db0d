import { bytesOf, writeInPieces } from '../../jsonRpc/pieces.ts'
import { createRpcDispatcher, toRpcError } from '../../jsonRpc/server.ts'
import { type JsonValue, RPC_INTERNAL_ERROR } from '../../jsonRpc/types.ts'
import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { BlockHeader } from '../chain/block.ts'
import { BlockReader } from '../chain/blockReader.ts'
import { ChainView } from '../chain/chainView.ts'
import type { ChainReads } from '../chain/storage/chainReads.ts'
import { parseChainConfig } from '../config/chainConfig.ts'
import { ChainError } from '../errors.ts'
import type { MethodTable } from '../rpc/context.ts'
import { createReadMethods } from '../rpc/methods/readMethods.ts'
import { bodyMethods } from './bodyMethods.ts'
import type { CallAnswer, CallOptions, CallTask, LabelHashes } from './callTask.ts'

type Answer = (answer: CallAnswer, bytes?: Uint8Array) => void

const decoder = new TextDecoder()
const MEBIBYTE = 1024 * 1024
/** Of the state: what is not here is in the program's caches, a tenth of a millisecond away. */
const CACHES = { maxNodeBytes: 32 * MEBIBYTE, maxCodeBytes: 16 * MEBIBYTE }

/** Runs calls one beside the other on a chain that answers elsewhere. */
export class CallRunner {
  private readonly methods: MethodTable
  private readonly options: CallOptions
  /** Questions to the program, by their numbers. */
  private readonly questions = new Map<number, (answer: string) => void>()
  private asked = 0
  private readonly running = new Map<number, AbortController>()
  private labels: LabelHashes

  constructor(reads: ChainReads, { config: json, genesis: hash, options }: Extract<CallTask, { kind: 'start' }>) {
    const config = parseChainConfig(json)
    const blocks = new BlockReader({ reads }, config)
    const header = (wanted: Hex): BlockHeader => {
      const found = blocks.header(wanted)
      if (found === undefined) throw new ChainError('unknown-block', `block ${wanted} is not known`)
      return found
    }
    const labelled = (wanted: Hex | undefined) => (wanted === undefined ? undefined : header(wanted))
    this.labels = { head: hash, safe: undefined, finalized: undefined }
    const labels = {
      head: () => header(this.labels.head),
      safe: () => labelled(this.labels.safe),
      finalized: () => labelled(this.labels.finalized),
    }
    const chain = new ChainView({ reads, blocks, labels }, { config, genesis: header(hash) }, CACHES)
    this.methods = createReadMethods(chain, options)
    this.options = options
  }

  run({ id, method, labels }: Extract<CallTask, { kind: 'call' }>, params: Uint8Array, answer: Answer): void {
    this.labels = labels
    // The program wrote them. What waits for the result does not have the text.
    void this.begin(id, method, JSON.parse(takeText(params)) as JsonValue[], answer)
  }

  private async begin(id: number, method: string, params: JsonValue[], answer: Answer): Promise<void> {
    const controller = new AbortController()
    const { signal } = controller
    this.running.set(id, controller)
    try {
      const handler = this.methods[method]
      if (handler === undefined) throw new Error(`no method ${method} in the process of calls`)
      const result = await handler(params, { signal, isOver: () => signal.aborted })
      answer({ id }, bytesOf(await writeInPieces(result ?? null, { signal })))
    } catch (thrown) {
      answer({ id, error: toAnswer(thrown) })
    } finally {
      this.running.delete(id)
    }
  }

  /** Answers the body of a request as the program's dispatcher would; no bytes: nothing is to be answered. */
  runBody({ id, labels, served }: Extract<CallTask, { kind: 'body' }>, body: Uint8Array, answer: Answer): void {
    this.labels = labels
    const controller = new AbortController()
    const { signal } = controller
    this.running.set(id, controller)
    const unexpected: { method: string; message: string }[] = []
    const ask = (request: string) => this.ask(id, request, answer)
    const dispatcher = createRpcDispatcher({
      methods: bodyMethods(served.methods, this.methods, ask, this.options),
      maxBatchSize: served.maxBatchSize,
      onUnexpectedError: (method, error) => unexpected.push({ method, message: describeError(error) }),
    })
    const answered = dispatcher.handle(takeText(body), { signal, isOver: () => signal.aborted })
    void answered
      .then(
        (pieces) => answer({ id, unexpected }, pieces === undefined ? EMPTY_BYTES : bytesOf(pieces)),
        (thrown: unknown) => answer({ id, error: toAnswer(thrown) }),
      )
      .finally(() => this.running.delete(id))
  }

  private ask(id: number, request: string, answer: Answer): Promise<string> {
    const question = ++this.asked
    return new Promise((resolve) => {
      this.questions.set(question, resolve)
      answer({ id, question }, Buffer.from(request))
    })
  }

  takeAnswer(question: number, bytes: Uint8Array): void {
    this.questions.get(question)?.(decoder.decode(bytes))
    this.questions.delete(question)
  }

  cancel(id: number): void {
    this.running.get(id)?.abort()
  }
}

function takeText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes)
  return text
}

function toAnswer(thrown: unknown): NonNullable<CallAnswer['error']> {
  const error = toRpcError(thrown)
  const { rpcCode, message, data } = error
  const isUnexpected = rpcCode === RPC_INTERNAL_ERROR && error !== thrown
  const text = isUnexpected && thrown instanceof Error ? (thrown.stack ?? thrown.message) : message
  return { rpcCode, message: text, data, isUnexpected }
}
