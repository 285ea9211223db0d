import { invalidParams, JsonRpcError, RPC_LIMIT_EXCEEDED } from '../../../jsonRpc/types.ts'
import type { Hex } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { findHeader } from '../blockLookup.ts'
import { prunedHistory, serverError } from '../errors.ts'
import { formatLog } from '../format/formatReceipt.ts'
import type { JsonRecord } from '../format/quantities.ts'
import type { RpcOptions } from '../options.ts'
import { createBloomTest, type LogFilter, type LogPattern, matchesLog } from './logFilter.ts'

type Receipts = Pick<ReadableChain, 'receipts'>

/** Matching logs of one block, in order. Throws if the receipts were pruned: an answer without their logs would be wrong. */
async function logsOfBlock(
  chain: Receipts,
  header: BlockHeader,
  pattern: LogPattern,
  removed = false,
): Promise<JsonRecord[]> {
  const receipts = await chain.receipts(header.hash)
  if (receipts === undefined) throw prunedHistory(`the receipts of block ${header.hash} were pruned`)
  const found: JsonRecord[] = []
  for (const receipt of receipts) {
    await yieldToLoop('answer')
    const origin = { ...receipt, blockTimestamp: header.timestamp }
    for (const log of receipt.logs) if (matchesLog(pattern, log)) found.push(formatLog(log, origin, removed))
  }
  return found
}

/** Estimated characters of a log in an answer, without its data. */
const LOG_CHARACTERS = 700

export function logDataCharacters({ data }: JsonRecord): number {
  return typeof data === 'string' ? data.length : 0
}

/** eth_getLogs. Blocks whose bloom excludes a match are not read. */
export async function searchLogs(
  chain: ReadableChain,
  filter: LogFilter,
  limits: Pick<RpcOptions, 'maxLogRangeBlocks' | 'maxLogs' | 'maxLogCharacters'>,
  signal: AbortSignal,
): Promise<JsonRecord[]> {
  const mayMatch = createBloomTest(filter)
  if (filter.blocks.kind === 'hash') {
    const header = await chain.headerByHash(filter.blocks.hash)
    if (header === undefined) throw serverError('unknown block')
    if (!mayMatch(header.logsBloom)) return []
    return logsOfBlock(chain, header, filter)
  }
  const [from, to] = await readRange(chain, filter.blocks)
  // Counted and worded as in op-reth, because indexers split their ranges on its words.
  if (to - from > limits.maxLogRangeBlocks) {
    const problem = `query exceeds max block range ${limits.maxLogRangeBlocks}`
    throw new JsonRpcError(RPC_LIMIT_EXCEEDED, `${problem}: ${to - from + 1} blocks`)
  }
  const found: JsonRecord[] = []
  let characters = 0
  for (let number = from; number <= to; number++) {
    signal.throwIfAborted()
    const header = await chain.headerByNumber(number)
    if (header === undefined) break
    if (mayMatch(header.logsBloom)) {
      for (const log of await logsOfBlock(chain, header, filter)) {
        characters += LOG_CHARACTERS + logDataCharacters(log)
        found.push(log)
      }
      let exceeded: string | undefined
      if (characters > limits.maxLogCharacters) exceeded = `${limits.maxLogCharacters} bytes`
      else if (found.length > limits.maxLogs) exceeded = `${limits.maxLogs} results`
      // One block is never refused: its client cannot make the range smaller.
      if (exceeded !== undefined && number > from) {
        const advice = `blocks ${from} to ${number - 1} fit`
        throw new JsonRpcError(RPC_LIMIT_EXCEEDED, `query returned more than ${exceeded}: ${advice}`)
      }
    }
    // Cached reads do not yield to the event loop.
    await yieldToLoop('answer')
  }
  return found
}

async function readRange(
  chain: ReadableChain,
  { from, to }: Extract<LogFilter['blocks'], { kind: 'range' }>,
): Promise<[number, number]> {
  const head = chain.head().number
  const numberOf = async (selector: typeof from): Promise<number> => {
    if (selector === undefined) return head
    if (selector.kind === 'number') return selector.number
    if (selector.kind === 'label' && selector.label === 'pending') throw invalidParams('pending logs are not supported')
    const header = await findHeader(chain, selector)
    if (header !== undefined) return header.number
    throw serverError(selector.kind === 'label' ? `${selector.label} header not found` : 'header not found')
  }
  const first = await numberOf(from)
  const last = await numberOf(to)
  if (first > last) throw invalidParams('invalid block range params')
  if (last > head) throw invalidParams('block range extends beyond current head block')
  return [first, last]
}

/** Caches receipts: a thousand filters read the same blocks. */
export function readOnce(chain: Receipts): Receipts {
  const known = new Map<Hex, ReturnType<Receipts['receipts']>>()
  return {
    receipts(hash) {
      const reading = known.get(hash) ?? chain.receipts(hash)
      known.set(hash, reading)
      return reading
    },
  }
}

/** Matching logs of an added or removed block. */
export async function logsFor(
  chain: Receipts,
  { filter, mayMatch }: { filter: LogFilter; mayMatch: (bloom: Hex) => boolean },
  header: BlockHeader,
  removed: boolean,
): Promise<JsonRecord[]> {
  const { blocks } = filter
  if (!mayMatch(header.logsBloom)) return []
  if (blocks.kind === 'hash' && blocks.hash !== header.hash) return []
  if (blocks.kind === 'range' && blocks.from?.kind === 'number' && header.number < blocks.from.number) return []
  if (blocks.kind === 'range' && blocks.to?.kind === 'number' && header.number > blocks.to.number) return []
  return logsOfBlock(chain, header, filter, removed)
}
