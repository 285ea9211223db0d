import { DecodeError } from '../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { decodeRlp, encodeRlp } from '../../lib/rlp.ts'
import { isForkActive } from '../../rollup/protocol/config/forks.ts'
import { type L1Info, parseL1Info } from '../../rollup/protocol/l1/l1Info.ts'
import { l1FeeFields } from '../block/feeSchedule.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { type Block, type BlockHeader, isSigned, type Receipt, type Transaction } from '../primitives/block.ts'
import { createAddress } from '../tx/createAddress.ts'
import { effectiveTip } from '../tx/effectiveTip.ts'
import { decodeStoredReceipts, type ExecutionReceipt } from '../tx/receiptCodec.ts'
import { decodeBody } from './storage/bodyCodec.ts'
import type { BlockReads } from './storage/chainReads.ts'
import { decodeHeader, encodeHeader } from './storage/headerCodec.ts'

const CACHED_HEADERS = 1024
const CACHED_BLOCKS = 256
/** Estimated memory of the cached blocks. */
const CACHED_BLOCK_BYTES = 4 * 1024 * 1024
/** Memory of a decoded transaction beside its encoding: hashes and addresses as text, and objects. Measured. */
const TRANSACTION_BYTES = 1_000

/** Reads blocks, and caches the latest ones decoded. */
export class BlockReader {
  private readonly reads: BlockReads
  private readonly config: ChainConfig
  private readonly headers = new LruMap<Hex, BlockHeader>(CACHED_HEADERS)
  private readonly blocks = new Map<Hex, Block>()
  private blockBytes = 0

  constructor(modules: { reads: BlockReads }, config: ChainConfig) {
    this.reads = modules.reads
    this.config = config
  }

  header(hash: Hex): BlockHeader | undefined {
    const known = this.headers.get(hash)
    if (known !== undefined) return known
    const encoding = this.reads.header(hash)
    if (encoding === undefined) return undefined
    const header = decodeHeader(encoding)
    this.headers.set(hash, header)
    return header
  }

  canonicalHeader(number: number): BlockHeader | undefined {
    const hash = this.reads.canonicalHash(number)
    return hash === undefined ? undefined : this.header(hash)
  }

  isCanonical(header: Pick<BlockHeader, 'hash' | 'number'>): boolean {
    return this.reads.canonicalHash(header.number) === header.hash
  }

  block(hash: Hex): Block | undefined {
    const known = this.blocks.get(hash)
    if (known !== undefined) return known
    const header = this.header(hash)
    const body = this.reads.body(hash)
    if (header === undefined || body === undefined) return undefined
    return this.rememberBlock(toBlock(header, decodeBody(body)))
  }

  cached(hash: Hex): Block | undefined {
    return this.blocks.get(hash)
  }

  receipts(hash: Hex): Receipt[] | undefined {
    const block = this.block(hash)
    const encoding = this.reads.receipts(hash)
    if (block === undefined || encoding === undefined) return undefined
    return toReceipts(block, decodeStoredReceipts(encoding), this.config)
  }

  protected keep(block: Block): void {
    this.headers.set(block.header.hash, block.header)
    this.rememberBlock(block)
  }

  /** The latest block stays, whatever its size. */
  private rememberBlock(block: Block): Block {
    const { hash } = block.header
    this.forgetBlock(hash)
    this.blocks.set(hash, block)
    this.blockBytes += memoryOf(block)
    for (const oldest of this.blocks.keys()) {
      const fits = this.blocks.size <= CACHED_BLOCKS && this.blockBytes <= CACHED_BLOCK_BYTES
      if (fits || oldest === hash) break
      this.forgetBlock(oldest)
    }
    return block
  }

  private forgetBlock(hash: Hex): void {
    const block = this.blocks.get(hash)
    if (block === undefined) return
    this.blockBytes -= memoryOf(block)
    this.blocks.delete(hash)
  }
}

function memoryOf({ sizeBytes, transactions }: Block): number {
  return sizeBytes + transactions.length * TRANSACTION_BYTES
}

export function toBlock(header: BlockHeader, transactions: Transaction[]): Block {
  return { header, transactions, sizeBytes: blockSize(header, transactions) }
}

/**
 * RLP of a block (Yellow Paper section 4.3): header, transactions (typed ones as byte strings), no uncles, withdrawals
 * from Canyon on.
 */
export function encodeBlock(block: Pick<Block, 'header' | 'transactions'>): Uint8Array {
  const { header, transactions } = block
  return encodeRlp([
    decodeRlp(encodeHeader(header)),
    transactions.map(({ type, raw }) => (type === 0 ? decodeRlp(raw) : raw)),
    [],
    ...(header.withdrawalsRoot === undefined ? [] : [[]]),
  ])
}

function blockSize(header: BlockHeader, transactions: readonly Transaction[]): number {
  const listSize = (payload: number) => payload + headerSize(payload)
  let body = 0
  for (const { type, raw } of transactions) body += type === 0 ? raw.length : raw.length + headerSize(raw.length)
  const withdrawals = header.withdrawalsRoot === undefined ? 0 : 1
  return listSize(encodeHeader(header).length + listSize(body) + 1 + withdrawals)
}

/** Bytes of the RLP header before a payload of more than one byte. */
function headerSize(payload: number): number {
  if (payload < 56) return 1
  return 1 + Math.ceil((32 - Math.clz32(payload)) / 8)
}

/** Undefined if the first transaction is no L1-info deposit: the execution rules do not require it. */
function l1InfoOf(tx: Transaction): L1Info | undefined {
  if (tx.type !== 0x7e) return undefined
  try {
    return parseL1Info(tx.data)
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** The other fields of a receipt are derived from the block. */
export function toReceipts(block: Block, stored: readonly ExecutionReceipt[], config: ChainConfig): Receipt[] {
  const { header, transactions } = block
  const [first] = transactions
  // Only signed transactions need the L1 parameters.
  const info = first !== undefined && transactions.some(({ type }) => type !== 0x7e) ? l1InfoOf(first) : undefined
  const refunds = refundsOf(block, config)
  let logIndex = 0
  let cumulativeBefore = 0n
  return stored.map((receipt, index) => {
    const tx = transactions[index]
    if (tx === undefined) throw new RangeError(`block ${header.hash} has more receipts than transactions`)
    const result: Receipt = {
      type: tx.type,
      status: receipt.status,
      cumulativeGasUsed: receipt.cumulativeGasUsed,
      gasUsed: receipt.cumulativeGasUsed - cumulativeBefore,
      logsBloom: toHex(receipt.logsBloom),
      logs: receipt.logs.map((log) => ({ ...log, logIndex: logIndex++ })),
      transactionHash: tx.hash,
      transactionIndex: index,
      blockHash: header.hash,
      blockNumber: header.number,
      from: tx.from,
      to: tx.type === 0x7d ? null : tx.to,
      contractAddress: null,
      effectiveGasPrice: 0n,
    }
    cumulativeBefore = receipt.cumulativeGasUsed
    if (receipt.depositNonce !== undefined) result.depositNonce = receipt.depositNonce
    if (receipt.depositReceiptVersion !== undefined) result.depositReceiptVersion = receipt.depositReceiptVersion
    if (tx.type !== 0x7d && tx.to === null) {
      const nonce = tx.type === 0x7e ? (receipt.depositNonce ?? 0) : tx.nonce
      result.contractAddress = createAddress(fromHex(tx.from), BigInt(nonce))
    }
    if (tx.type !== 0x7e && info !== undefined) {
      const fields = l1FeeFields(tx.raw, info, config, header.timestamp)
      result.l1Fee = tx.type === 0x7d ? { ...fields, ...NO_L1_COST } : fields
    }
    if (isSigned(tx)) {
      result.effectiveGasPrice = header.baseFeePerGas + effectiveTip(tx, header.baseFeePerGas)
      if (refunds !== undefined) result.gasRefund = refunds.get(index) ?? null
    }
    return result
  })
}

/**
 * Costs of a post-exec transaction: its receipt shows the block's L1 parameters and no cost (specs: lagoon/post-exec,
 * "DA Footprint").
 */
const NO_L1_COST = { l1Fee: 0n, l1GasUsed: 0n, daFootprint: 0n }

/** Refunds by transaction index, read from the block. Undefined before Lagoon. */
function refundsOf({ header, transactions }: Block, config: ChainConfig): ReadonlyMap<number, bigint> | undefined {
  if (!isForkActive(config, 'lagoon', header.timestamp)) return undefined
  const last = transactions.at(-1)
  const refunds = last?.type === 0x7d ? last.payload.refunds : []
  return new Map(refunds.map(({ index, gasRefund }) => [index, gasRefund]))
}
