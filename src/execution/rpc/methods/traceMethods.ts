import { WrittenJson } from '../../../jsonRpc/bodyChunks.ts'
import { DecodeError } from '../../../lib/errors.ts'
import type { Hex } from '../../../lib/hex.ts'
import { asObject, type JsonObject } from '../../../lib/jsonReader.ts'
import { decodeTransaction } from '../../../rollup/protocol/index.ts'
import { toBlock } from '../../chain/blockReader.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import { partsOfBlock } from '../../chain/storage/blockFile.ts'
import { hasCode } from '../../errors.ts'
import type { Block, BlockHeader } from '../../primitives/block.ts'
import { AnswerBudget } from '../../tracing/answerBudget.ts'
import { CallTracer } from '../../tracing/callTracer.ts'
import { gasRefundTracers } from '../../tracing/gasRefundTracer.ts'
import { PrestateTracer } from '../../tracing/prestateTracer.ts'
import { StructLogger } from '../../tracing/structLogger.ts'
import type { TransactionTracer } from '../../tracing/types.ts'
import { findHeader, requireHeader } from '../blockLookup.ts'
import { blockOverrides, callArguments, limitCall, stateOverrides } from '../callArguments.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import type { RpcOptions } from '../options.ts'
import { type BlockSelector, blockNumber, blockSelector, data, hash, maybe, method, type Param } from '../params.ts'

interface Tracers {
  /** Creates the tracer of the next transaction. */
  make: () => TransactionTracer
  /** Whether the tracers must also see the earlier transactions of the block. */
  needEarlier?: boolean
}

/** geth's TraceConfig. */
const tracers: Param<Tracers> = {
  parse: (value) => readTracer(asObject(value, 'trace options')),
  fallback: () => readTracer({}),
}

/** geth's TraceCallConfig. */
const callTracers: Param<{
  tracer: Tracers
  overrides: ReturnType<typeof stateOverrides.parse>
  block: ReturnType<typeof blockOverrides.parse>
}> = {
  parse(value) {
    const json = asObject(value, 'trace options')
    return {
      tracer: readTracer(json),
      overrides: maybe(json.stateOverrides, stateOverrides.parse),
      block: maybe(json.blockOverrides, blockOverrides.parse),
    }
  },
  fallback: () => ({ tracer: readTracer({}), overrides: undefined, block: undefined }),
}

/** debug_trace*: opcodes, calls or state changes of transactions. */
export function createTraceMethods(chain: ReadableChain, { callGasCap }: Pick<RpcOptions, 'callGasCap'>): MethodTable {
  const traceBlock = async (block: Block, { make }: Tracers, client: AbortSignal) => {
    if (block.header.number === 0) throw serverError('genesis is not traceable')
    const all = { from: 0, to: Number.POSITIVE_INFINITY }
    const results = await chain.traceBlock(block, all, make, client).catch(rethrowInvalid)
    return results.map((result, index) => withHash(block.transactions[index]?.hash, result))
  }
  const requireBlock = async ({ hash: blockHash }: Pick<BlockHeader, 'hash'>): Promise<Block> => {
    const block = await chain.blockByHash(blockHash)
    if (block === undefined) throw serverError(`block ${blockHash} not found`)
    return block
  }
  return {
    debug_traceTransaction: method([hash, tracers], async ([wanted, { make, needEarlier = false }], { signal }) => {
      const located = await chain.transactionByHash(wanted)
      if (located === undefined) throw serverError('transaction not found')
      const range = { from: needEarlier ? 0 : located.index, to: located.index + 1 }
      const block = await requireBlock(located.block)
      return (await chain.traceBlock(block, range, make, signal)).at(-1)
    }),
    debug_traceBlockByNumber: method([blockNumber, tracers], async ([selector, tracer], { signal }) => {
      const header = await findHeader(chain, selector)
      if (header === undefined) throw serverError(`block ${nameOf(selector)} not found`)
      return traceBlock(await requireBlock(header), tracer, signal)
    }),
    debug_traceBlockByHash: method([hash, tracers], async ([wanted, tracer], { signal }) => {
      const header = await chain.headerByHash(wanted)
      if (header === undefined) throw serverError(`block ${wanted} not found`)
      return traceBlock(await requireBlock(header), tracer, signal)
    }),
    // Traces a block that need not be in the chain. Its parent must be.
    debug_traceBlock: method([data, tracers], async ([encoding, tracer], { signal }) => {
      const block = decodeBlock(encoding)
      if ((await chain.headerByHash(block.header.parentHash)) === undefined) {
        throw serverError(`parent ${block.header.parentHash} not found`)
      }
      return traceBlock(block, tracer, signal)
    }),
    debug_traceCall: method(
      [callArguments, blockSelector, callTracers],
      async ([args, selector, { tracer, overrides, block }], { signal }) => {
        const { hash: blockHash } = await requireHeader(chain, selector)
        const request = limitCall(args, chain.config.chainId, callGasCap)
        const place = { blockHash, overrides, block }
        return chain.traceCall(request, place, tracer.make(), signal).catch((error: unknown) => {
          if (!hasCode(error, 'execution-failed')) throw error
          throw serverError(`tracing failed: ${error.message}`)
        })
      },
    ),
  }
}

function withHash(txHash: Hex | undefined, result: unknown): unknown {
  if (!(result instanceof WrittenJson)) return { txHash, result }
  return new WrittenJson([`{"txHash":"${txHash}","result":`, ...result.chunks, '}'])
}

/** An invalid block was given by the caller, so the error is the call's. */
function rethrowInvalid(error: unknown): never {
  throw hasCode(error, 'invalid-block', 'invalid-transaction') ? serverError(`tracing failed: ${error.message}`) : error
}

function decodeBlock(encoding: Uint8Array): Block {
  try {
    const { header, transactions } = partsOfBlock(encoding)
    return toBlock(
      header,
      transactions.map((raw) => decodeTransaction(raw)),
    )
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw serverError(`could not decode block: ${error.message}`)
  }
}

function nameOf(selector: BlockSelector): string {
  return selector.kind === 'number' ? `#${selector.number}` : selector.kind
}

/** geth's options that change the result and are not supported. */
const UNKNOWN_OPTIONS = ['enableReturnData', 'txIndex']

function readTracer(json: JsonObject): Tracers {
  const unknown = UNKNOWN_OPTIONS.find(
    (name) => json[name] !== undefined && json[name] !== null && json[name] !== false,
  )
  if (unknown !== undefined) throw serverError(`trace option "${unknown}" is not supported`)
  const config = maybe(json.tracerConfig, (value) => asObject(value, 'tracerConfig')) ?? {}
  const budget = new AnswerBudget('trace single transactions, or set "limit", "onlyTopCall" or "disableCode"')
  const flag = (from: JsonObject, name: string) => from[name] === true
  switch (json.tracer ?? '') {
    case '': {
      const limit = maybe(json.limit, readLimit)
      const options = {
        showStack: !flag(json, 'disableStack'),
        showStorage: !flag(json, 'disableStorage'),
        showMemory: flag(json, 'enableMemory'),
        limit: limit === 0 ? undefined : limit,
      }
      return { make: () => new StructLogger(options, budget) }
    }
    case 'callTracer': {
      const options = { withLog: flag(config, 'withLog'), onlyTopCall: flag(config, 'onlyTopCall') }
      return { make: () => new CallTracer(options, budget) }
    }
    case 'prestateTracer': {
      const options = {
        diffMode: flag(config, 'diffMode'),
        disableCode: flag(config, 'disableCode'),
        disableStorage: flag(config, 'disableStorage'),
        includeEmpty: flag(config, 'includeEmpty'),
      }
      if (options.diffMode && options.includeEmpty) throw serverError('cannot use diffMode with includeEmpty')
      return { make: () => new PrestateTracer(options, budget) }
    }
    case 'gasRefundTracer':
      return { make: gasRefundTracers(), needEarlier: true }
    default:
      throw new TypeError(
        `tracer ${JSON.stringify(json.tracer)} is not supported: expected callTracer, prestateTracer, gasRefundTracer, or none for struct logs`,
      )
  }
}

function readLimit(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new TypeError('limit: expected a whole number')
  }
  return value
}
