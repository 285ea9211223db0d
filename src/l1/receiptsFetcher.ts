import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../jsonRpc/types.ts'
import type { Clock } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import { type Hex, toQuantity } from '../lib/hex.ts'
import { asArray, JsonObjectReader, jsonBytes } from '../lib/jsonReader.ts'
import type { Logger } from '../lib/logger.ts'
import type { CoalescedRpc } from './coalescedRpc.ts'
import { badAnswer, L1Error } from './errors.ts'
import { type ParsedReceipt, parseRawReceipt, parseReceipt } from './receipt.ts'
import type { L1RpcKind } from './types.ts'

export interface ReceiptsTarget {
  blockHash: Hex
  blockNumber: number
  transactionHashes: readonly Hex[]
}

type ReceiptsMethod =
  | 'alchemy_getTransactionReceipts'
  | 'debug_getRawReceipts'
  | 'erigon_getBlockReceiptsByBlockHash'
  | 'eth_getBlockReceipts'
  | 'parity_getBlockReceipts'
  | 'eth_getTransactionReceipt'

/** In order of preference. Each list ends with a method that every endpoint supports. */
const METHODS_OF_KIND: Readonly<Record<L1RpcKind, readonly ReceiptsMethod[]>> = {
  standard: ['eth_getBlockReceipts', 'eth_getTransactionReceipt'],
  alchemy: ['alchemy_getTransactionReceipts', 'eth_getBlockReceipts', 'eth_getTransactionReceipt'],
  quicknode: ['debug_getRawReceipts', 'eth_getBlockReceipts', 'eth_getTransactionReceipt'],
  infura: ['eth_getBlockReceipts', 'eth_getTransactionReceipt'],
  basic: ['eth_getTransactionReceipt'],
  parity: ['parity_getBlockReceipts', 'eth_getTransactionReceipt'],
  nethermind: ['parity_getBlockReceipts', 'eth_getTransactionReceipt'],
  debug_geth: ['debug_getRawReceipts', 'eth_getTransactionReceipt'],
  erigon: ['erigon_getBlockReceiptsByBlockHash', 'eth_getTransactionReceipt'],
  any: [
    'alchemy_getTransactionReceipts',
    'debug_getRawReceipts',
    'erigon_getBlockReceiptsByBlockHash',
    'eth_getBlockReceipts',
    'parity_getBlockReceipts',
    'eth_getTransactionReceipt',
  ],
}

/** A rejected method is tried again after this time (op-node's `MethodResetDuration`). */
const MASK_MS = 60_000

/**
 * Fetches the receipts of a block with the cheapest working method. Returns one receipt for each transaction, in order.
 */
export function createReceiptsFetcher(
  { rpc, clock, logger }: { rpc: CoalescedRpc; clock: Clock; logger: Logger },
  kind: L1RpcKind,
): (target: ReceiptsTarget) => Promise<ParsedReceipt[]> {
  const maskedUntil = new Map<ReceiptsMethod, number>()

  return async (target) => {
    const methods = METHODS_OF_KIND[kind]
    const usable = methods.filter((method) => (maskedUntil.get(method) ?? 0) <= clock.now())
    // If all methods are masked, the last one is tried anyway.
    const candidates = usable.length > 0 ? usable : methods.slice(-1)
    for (const [index, method] of candidates.entries()) {
      try {
        return await fetchBy(rpc, method, target)
      } catch (error) {
        if (index === candidates.length - 1 || !isUnusableMethod(error)) throw error
        maskedUntil.set(method, clock.now() + MASK_MS)
        logger.debug('L1 endpoint does not support a receipts method', { method, err: describeError(error) })
      }
    }
    throw badAnswer('no method left to fetch receipts')
  }
}

async function fetchBy(rpc: CoalescedRpc, method: ReceiptsMethod, target: ReceiptsTarget): Promise<ParsedReceipt[]> {
  switch (method) {
    case 'eth_getTransactionReceipt': {
      const calls = target.transactionHashes.map((hash) => ({ method, params: [hash] }))
      const answers = await rpc.batch(calls)
      return answers.map((answer, index) => {
        if (answer instanceof JsonRpcError) throw answer
        if (answer === null) throw notFound(target, `receipt of transaction ${index}`)
        return parseReceipt(answer)
      })
    }
    case 'debug_getRawReceipts':
      return parseRawReceipts(await list(rpc, method, [target.blockHash], target), target)
    case 'alchemy_getTransactionReceipts': {
      const answer = await rpc.request(method, [{ blockHash: target.blockHash }], weightOf(target))
      if (answer === null) throw notFound(target, 'receipts')
      return (new JsonObjectReader(answer, method).optionalArray('receipts') ?? []).map(parseReceipt)
    }
    case 'parity_getBlockReceipts':
      // Takes only a number. The caller compares the block hash in each receipt.
      return (await list(rpc, method, [toQuantity(target.blockNumber)], target)).map(parseReceipt)
    default:
      return (await list(rpc, method, [target.blockHash], target)).map(parseReceipt)
  }
}

async function list(
  rpc: CoalescedRpc,
  method: ReceiptsMethod,
  params: readonly unknown[],
  target: ReceiptsTarget,
): Promise<readonly unknown[]> {
  const answer = await rpc.request(method, params, weightOf(target))
  if (answer === null) throw notFound(target, 'receipts')
  return asArray(answer, method)
}

/** Receipts of eight transactions are about as large as a header with 200 hashes. */
function weightOf({ transactionHashes }: ReceiptsTarget): { weight: number } {
  return { weight: 1 + transactionHashes.length / 8 }
}

function parseRawReceipts(answers: readonly unknown[], target: ReceiptsTarget): ParsedReceipt[] {
  let logIndex = 0
  return answers.map((answer, index) => {
    const hash = target.transactionHashes[index]
    if (hash === undefined) throw badAnswer(`block ${target.blockHash}: more raw receipts than transactions`)
    const parsed = parseRawReceipt(jsonBytes(answer, 'raw receipt'), hash, logIndex)
    logIndex += parsed.receipt.logs.length
    return parsed
  })
}

function notFound(target: ReceiptsTarget, what: string): L1Error {
  return new L1Error('l1-not-found', `${what} of L1 block ${target.blockHash} not found`)
}

/** Method not found, or the messages of providers that do not include the method. */
function isUnusableMethod(error: unknown): boolean {
  if (!(error instanceof JsonRpcError)) return false
  if (error.rpcCode === RPC_METHOD_NOT_FOUND) return true
  return /method.*(not|does not|isn't).*(found|exist|available|supported|whitelisted|allowed|implemented)|unsupported method|unknown method/i.test(
    error.message,
  )
}
