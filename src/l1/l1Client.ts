import { JsonRpcError } from '../jsonRpc/types.ts'
import type { CacheWatch } from '../lib/cacheMetrics.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { DecodeError, describeError } from '../lib/errors.ts'
import { type Hex, normalizeHex, quantityToBigInt, toQuantity } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'
import {
  accountProofFromJson,
  EMPTY_TRIE_ROOT,
  orderedTrieRoot,
  storageProofsFromJson,
  verifyAccountProof,
  verifyStorageProof,
} from '../rollup/protocol/index.ts'
import type { L1BlockInfo, L1Receipt, L1Transaction } from '../rollup/protocol/types.ts'
import { type ParsedBlock, parseBlock } from './block.ts'
import { type CoalescedRpc, createCoalescedRpc } from './coalescedRpc.ts'
import { badAnswer, L1Error } from './errors.ts'
import { createLimitedRpc, type LimitedRpc } from './limitedRpc.ts'
import { createBloomTest } from './logsBloom.ts'
import { PromiseCache } from './promiseCache.ts'
import type { ParsedReceipt } from './receipt.ts'
import { createReceiptsFetcher } from './receiptsFetcher.ts'
import { type ParsedTransaction, parseTransaction, readTransaction } from './transaction.ts'
import type { L1Client, L1RpcKind } from './types.ts'

export interface L1ClientModules {
  rpc: LimitedRpc
  logger: Logger
  clock: Clock
}

export interface L1ClientOptions {
  /** Accepts headers, transactions and receipts without verifying hashes and roots (`--l1.trustrpc`). Default false. */
  trustRpc?: boolean
  /** Default `standard`. */
  rpcKind?: L1RpcKind
  /** Default 20. */
  maxBatchSize?: number
  /** Default 10. */
  maxConcurrency?: number
  /** Calls per second. Default 0: no limit. */
  rateLimitPerSecond?: number
  /** Number of cached block infos (`--l1.cache-size`). Default 900. */
  cacheSize?: number
  /**
   * Contracts whose logs are kept in receipts after verification. Default: all. If the block's bloom filter excludes
   * these contracts, the receipts are not fetched and the result is empty. The filter of a trusted endpoint is not
   * used, because it is not verified.
   */
  logAddresses?: readonly Hex[]
  /** Called with each cache, for metrics. */
  watchCache?: CacheWatch
  /** Only transactions to these recipients are kept after verification. Default: all. */
  transactionsTo?: readonly Hex[]
}

/** Blocks with cached transactions and receipts. Derivation reads each block once, but blocks are prefetched. */
const CACHED_BLOCKS = 320
/** Number of transactions whose JSON is as large as a header. */
const TRANSACTIONS_OF_WEIGHT_1 = 15
/** Delay before a failed proof is requested again, longer than Anvil takes to build a block. */
const PROOF_RETRY_MS = 500

/**
 * An L1 endpoint over JSON-RPC. Results are verified, cached by block hash, and requested within the endpoint's limits.
 */
export function createL1Client(modules: L1ClientModules, options: L1ClientOptions = {}): L1Client {
  const { clock, logger } = modules
  const trust = options.trustRpc ?? false
  const maxBatchSize = options.maxBatchSize ?? 20
  const limited = createLimitedRpc(modules.rpc, clock, {
    maxConcurrency: options.maxConcurrency ?? 10,
    maxBatchSize,
    rateLimitPerSecond: options.rateLimitPerSecond ?? 0,
  })
  const rpc = createCoalescedRpc(limited, { clock, logger }, { maxWeight: maxBatchSize })
  const fetchReceipts = createReceiptsFetcher({ rpc, clock, logger }, options.rpcKind ?? 'standard')
  const headers = new PromiseCache<L1Header | undefined>(options.cacheSize ?? 900)
  const transactionHashes = new PromiseCache<readonly Hex[]>(CACHED_BLOCKS)
  const transactionsCache = new PromiseCache<BlockTransactions>(CACHED_BLOCKS)
  const receiptsCache = new PromiseCache<BlockReceipts>(CACHED_BLOCKS)
  options.watchCache?.('headers', headers)
  options.watchCache?.('txs', transactionsCache)
  options.watchCache?.('receipts', receiptsCache)
  const { logAddresses, transactionsTo } = options
  const keepLog = addressFilter(logAddresses)
  const keepRecipient = addressFilter(transactionsTo)
  const mayHaveLogs = trust || logAddresses === undefined ? () => true : createBloomTest(logAddresses)
  /** Moving average of the transactions of a block. */
  let usualTransactions = 0

  const blockWeight = (): number => 1 + usualTransactions / TRANSACTIONS_OF_WEIGHT_1

  const block = async (method: string, id: string, full: boolean): Promise<ParsedBlock | undefined> => {
    const json = await requestBlock(rpc, method, id, full, full ? blockWeight() : 1)
    return json === null ? undefined : checked(`${method}(${id})`, () => parseBlock(json, trust))
  }

  const blockByHash = async (hash: Hex, full: boolean): Promise<ParsedBlock | undefined> => {
    const parsed = await block('eth_getBlockByHash', hash, full)
    if (parsed !== undefined && parsed.info.hash !== hash) {
      throw badAnswer(`requested L1 block ${hash}, got ${parsed.info.hash}`)
    }
    return parsed
  }

  /** Keeps only the small fields, because many headers are cached. */
  const headerOf = ({ info, transactionsRoot, receiptsRoot, stateRoot, logsBloom }: ParsedBlock): L1Header => ({
    info,
    transactionsRoot,
    receiptsRoot,
    stateRoot,
    mayHaveLogs: mayHaveLogs(logsBloom),
  })
  const rememberHashes = ({ info, transactions }: ParsedBlock): readonly Hex[] => {
    const hashes = transactions.map((value) => normalizeHex(value, 32, 'transaction hash'))
    transactionHashes.put(info.hash, Promise.resolve(hashes))
    return hashes
  }
  const rememberHeader = (parsed: ParsedBlock): L1BlockInfo => {
    rememberHashes(parsed)
    headers.put(parsed.info.hash, Promise.resolve(headerOf(parsed)))
    return parsed.info
  }
  const rememberBlock = (parsed: ParsedBlock): BlockTransactions => {
    const { info } = parsed
    const all = readTransactions(parsed, trust)
    usualTransactions += (all.length - usualTransactions) / 8
    const hashes = all.map(({ hash }) => hash)
    const result = { info, transactions: all.filter(({ to }) => keepRecipient(to)) }
    headers.put(info.hash, Promise.resolve(headerOf(parsed)))
    transactionHashes.put(info.hash, Promise.resolve(hashes))
    return result
  }

  const header = (hash: Hex) =>
    headers.get(hash, async () => {
      const parsed = await blockByHash(hash, false)
      if (parsed === undefined) return undefined
      rememberHashes(parsed)
      return headerOf(parsed)
    })

  const headerOrThrow = async (hash: Hex): Promise<L1Header> => {
    const known = await header(hash)
    if (known === undefined) throw notFound(hash)
    return known
  }

  const loadTransactions = async (hash: Hex): Promise<BlockTransactions> => {
    const known = await headers.peek(hash)
    // An empty block needs no further request.
    if (known?.transactionsRoot === EMPTY_TRIE_ROOT) return { info: known.info, transactions: [] }
    const parsed = await blockByHash(hash, true)
    if (parsed === undefined) throw notFound(hash)
    return rememberBlock(parsed)
  }

  const loadHashes = async (hash: Hex): Promise<readonly Hex[]> => {
    const parsed = await blockByHash(hash, false)
    if (parsed === undefined) throw notFound(hash)
    return rememberHashes(parsed)
  }

  const loadReceipts = async (hash: Hex): Promise<BlockReceipts> => {
    const { info, receiptsRoot, mayHaveLogs } = await headerOrThrow(hash)
    if (receiptsRoot === EMPTY_TRIE_ROOT || !mayHaveLogs) return { info, receipts: [] }
    const hashes = await transactionHashes.get(hash, () => loadHashes(hash))
    const answers = await fetchReceipts({ blockHash: hash, blockNumber: info.number, transactionHashes: hashes })
    if (!trust) verifyReceipts(answers, hash, hashes, receiptsRoot)
    const receipts = answers.map(({ receipt }) => ({
      ...receipt,
      logs: receipt.logs.filter(({ address }) => keepLog(address)),
    }))
    return { info, receipts }
  }

  const fetchBlock = async (number: number): Promise<L1BlockInfo | undefined> => {
    const parsed = await block('eth_getBlockByNumber', toQuantity(number), true)
    if (parsed === undefined) return undefined
    checkNumber(parsed, number)
    const { hash } = parsed.info
    const result = await checked(`L1 block ${hash}`, () => rememberBlock(parsed))
    transactionsCache.put(hash, Promise.resolve(result))
    return parsed.info
  }

  const readStorage = async (address: Hex, slot: Hex, blockHash: Hex): Promise<bigint> => {
    const answer = await rpc.request('eth_getStorageAt', [address, slot, { blockHash }])
    return quantityToBigInt(answer === '0x' ? '0x0' : answer, 'storage')
  }

  /** Like op-node: the block's state root proves the account, and the account's storage root proves the slot. */
  const proveStorage = async (address: Hex, slot: Hex, blockHash: Hex): Promise<bigint> => {
    const { stateRoot } = await headerOrThrow(blockHash)
    const answer = await rpc.request('eth_getProof', [address, [slot], blockHash]).catch((cause: unknown) => {
      if (!(cause instanceof JsonRpcError)) throw cause
      const hint = 'with --l1.trustrpc the node needs no proof'
      throw badAnswer(`L1 endpoint returned no storage proof (eth_getProof): ${describeError(cause)}; ${hint}`, cause)
    })
    const account = accountProofFromJson(answer)
    const [storage] = storageProofsFromJson(answer)
    if (account.address !== address) throw badAnswer(`requested a proof of ${address}, got ${account.address}`)
    if (storage?.key !== slot) throw badAnswer(`requested a proof of slot ${slot}, got ${storage?.key ?? 'none'}`)
    try {
      verifyAccountProof(account, stateRoot)
      verifyStorageProof(storage, account.storageHash)
    } catch (cause) {
      throw badAnswer(`storage of ${address} at L1 block ${blockHash} is not proven: ${describeError(cause)}`, cause)
    }
    return storage.value
  }

  /**
   * While Anvil builds a block, it proves against a newer state than its head. A second request succeeds once that
   * block is the head.
   */
  const proveStorageTwice = (address: Hex, slot: Hex, blockHash: Hex): Promise<bigint> =>
    proveStorage(address, slot, blockHash).catch(async (error: unknown) => {
      if (!(error instanceof L1Error)) throw error
      await sleep(clock, PROOF_RETRY_MS)
      return proveStorage(address, slot, blockHash)
    })

  return {
    async blockInfoByHash(hash) {
      return (await header(hash))?.info
    },
    async blockInfoByNumber(number) {
      const parsed = await block('eth_getBlockByNumber', toQuantity(number), false)
      if (parsed === undefined) return undefined
      checkNumber(parsed, number)
      return rememberHeader(parsed)
    },
    async blockInfoByLabel(label) {
      const parsed = await block('eth_getBlockByNumber', label, false)
      return parsed === undefined ? undefined : rememberHeader(parsed)
    },
    fetchBlocks: (numbers) => numbers.map(fetchBlock),
    blockWeight,
    transactions: (hash) =>
      transactionsCache.get(hash, () => checked(`L1 block ${hash}`, () => loadTransactions(hash))),
    receipts: (hash) => receiptsCache.get(hash, () => checked(`L1 block ${hash}`, () => loadReceipts(hash))),
    storageAt: (address, slot, blockHash) =>
      checked(`L1 block ${blockHash}`, async () => {
        const read = trust ? readStorage : proveStorageTwice
        const value = await read(address, slot, blockHash)
        const word: Hex = `0x${value.toString(16).padStart(64, '0')}`
        return word
      }),
    chainId: async () => quantityToBigInt(await rpc.request('eth_chainId', []), 'chain id'),
  }
}

/** The cached part of every block. */
interface L1Header extends Pick<ParsedBlock, 'info' | 'transactionsRoot' | 'receiptsRoot' | 'stateRoot'> {
  /** Whether the block may have logs of the wanted contracts. */
  mayHaveLogs: boolean
}

interface BlockTransactions {
  info: L1BlockInfo
  transactions: L1Transaction[]
}

interface BlockReceipts {
  info: L1BlockInfo
  receipts: L1Receipt[]
}

/** Returns null if the endpoint has no such block. Some endpoints report this by an error. */
async function requestBlock(
  rpc: CoalescedRpc,
  method: string,
  id: string,
  full: boolean,
  weight: number,
): Promise<unknown> {
  try {
    return await rpc.request(method, [id, full], { weight })
  } catch (error) {
    if (error instanceof JsonRpcError && /not found|unknown block|could not find block/i.test(error.message))
      return null
    throw error
  }
}

function readTransactions(parsed: ParsedBlock, trust: boolean): L1Transaction[] {
  if (trust) return parsed.transactions.map(readTransaction)
  const all = parsed.transactions.map(parseTransaction)
  const root = orderedTrieRoot(all.map(({ encoded }) => encoded))
  if (root !== parsed.transactionsRoot && !isRootWithBlobs(all, parsed.transactionsRoot)) {
    throw badAnswer(`L1 block ${parsed.info.hash}: transactions root is ${root}, expected ${parsed.transactionsRoot}`)
  }
  return all.map(({ transaction }) => transaction)
}

/** Anvil's transactions root covers blob transactions together with their blobs, which proves the same transactions. */
function isRootWithBlobs(all: readonly ParsedTransaction[], root: Hex): boolean {
  if (all.every(({ encodedWithBlobs }) => encodedWithBlobs === undefined)) return false
  return orderedTrieRoot(all.map(({ encoded, encodedWithBlobs }) => encodedWithBlobs ?? encoded)) === root
}

/**
 * The receipts must belong to the block: one for each transaction, in order, with consecutive log indices, and with the
 * root.
 */
function verifyReceipts(
  receipts: readonly ParsedReceipt[],
  blockHash: Hex,
  transactionHashes: readonly Hex[],
  receiptsRoot: Hex,
): void {
  const fail = (what: string) => badAnswer(`receipts of L1 block ${blockHash}: ${what}`)
  if (receipts.length !== transactionHashes.length) {
    throw fail(`${receipts.length} for ${transactionHashes.length} transactions`)
  }
  let logIndex = 0
  for (const [index, parsed] of receipts.entries()) {
    if (parsed.transactionIndex !== undefined && parsed.transactionIndex !== index)
      throw fail(`order broken at ${index}`)
    if (parsed.blockHash !== undefined && parsed.blockHash !== blockHash) throw fail(`${index} is of another block`)
    if (parsed.receipt.transactionHash !== transactionHashes[index]) throw fail(`${index} is of another transaction`)
    for (const log of parsed.receipt.logs) {
      if (log.logIndex !== logIndex) throw fail(`log index ${log.logIndex}, expected ${logIndex}`)
      logIndex++
    }
  }
  const root = orderedTrieRoot(receipts.map(({ encoded }) => encoded))
  if (root !== receiptsRoot) throw fail(`root is ${root}, expected ${receiptsRoot}`)
}

function addressFilter(addresses: readonly Hex[] | undefined): (address: Hex | null) => boolean {
  if (addresses === undefined) return () => true
  const wanted = new Set<Hex | null>(addresses)
  return (address) => wanted.has(address)
}

function checkNumber({ info }: ParsedBlock, number: number): void {
  if (info.number !== number) throw badAnswer(`requested L1 block ${number}, got ${info.number}`)
}

function notFound(hash: Hex): L1Error {
  return new L1Error('l1-not-found', `L1 block ${hash} not found`)
}

/** A malformed answer is the endpoint's fault. The error is therefore temporary and names the call. */
async function checked<T>(what: string, load: () => T | Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (cause instanceof DecodeError) throw badAnswer(`${what}: ${describeError(cause)}`, cause)
    throw cause
  }
}
