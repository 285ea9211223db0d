import { concatBytes } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { type Pieces, writeInPieces } from '../../lib/jsonRpc/pieces.ts'
import { toRpcError } from '../../lib/jsonRpc/server.ts'
import { type JsonValue, RPC_INTERNAL_ERROR } from '../../lib/jsonRpc/types.ts'
import type { BlockHeader } from '../chain/block.ts'
import { BlockReader } from '../chain/blockReader.ts'
import { parseChainConfig } from '../chain/chainConfig.ts'
import type { ChainReads } from '../chain/chainReads.ts'
import { ChainView } from '../chain/chainView.ts'
import { ChainError } from '../errors.ts'
import type { MethodTable } from '../rpc/context.ts'
import { createReadMethods } from '../rpc/readMethods.ts'
import type { CallAnswer, CallTask, LabelHashes } from './callTask.ts'

const decoder = new TextDecoder()
const MEBIBYTE = 1024 * 1024
/** Of the state: what is not here is in the program's caches, a tenth of a millisecond away. */
const CACHES = { maxNodeBytes: 32 * MEBIBYTE, maxCodeBytes: 16 * MEBIBYTE }

/** Runs calls one beside the other on a chain that answers elsewhere. */
export class CallRunner {
  private readonly methods: MethodTable
  private readonly running = new Map<number, AbortController>()
  private labels: LabelHashes

  constructor(reads: ChainReads, { config: json, genesis: hash, options }: Extract<CallTask, { kind: 'start' }>) {
    const config = parseChainConfig(json)
    const blocks = new BlockReader({ reads }, config)
    const header = (wanted: Hex): BlockHeader => {
      const found = blocks.header(wanted)
      if (found === undefined) throw new ChainError('unknownBlock', `block ${wanted} is not known`)
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
  }

  run(
    { id, method, labels }: Extract<CallTask, { kind: 'call' }>,
    params: Uint8Array,
    answer: (answer: CallAnswer, bytes?: Uint8Array) => void,
  ): void {
    this.labels = labels
    // The program wrote them. What waits for the result does not have the text.
    void this.begin(id, method, JSON.parse(decoder.decode(params)) as JsonValue[], answer)
  }

  private async begin(
    id: number,
    method: string,
    params: JsonValue[],
    answer: (answer: CallAnswer, bytes?: Uint8Array) => void,
  ): Promise<void> {
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

  cancel(id: number): void {
    this.running.get(id)?.abort()
  }
}

function toAnswer(thrown: unknown): NonNullable<CallAnswer['error']> {
  const error = toRpcError(thrown)
  const { rpcCode, message, data } = error
  const isUnexpected = rpcCode === RPC_INTERNAL_ERROR && error !== thrown
  const text = isUnexpected && thrown instanceof Error ? (thrown.stack ?? thrown.message) : message
  return { rpcCode, message: text, data, isUnexpected }
}

function bytesOf(pieces: Pieces): Uint8Array {
  return concatBytes(...pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
