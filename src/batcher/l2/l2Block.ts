import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import type { Hex } from '../../lib/hex.ts'
import { asObject, JsonObjectReader, jsonBytes } from '../../lib/jsonReader.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import {
  DEPOSIT_TX_TYPE,
  fastLzLength,
  isSpanTxType,
  parseL1Info,
  transactionFromJson,
  typeOfJson,
} from '../../rollup/protocol/index.ts'
import type { BlockId } from '../../rollup/protocol/types.ts'

/** An L2 block as the batcher keeps it: what a batch says of it, and where it stands. */
export interface BatcherBlock {
  hash: Hex
  number: number
  parentHash: Hex
  timestamp: number
  /** From the block's L1-info deposit. */
  l1Origin: BlockId
  sequenceNumber: number
  /** Without deposits; EIP-2718 encodings. */
  transactions: Uint8Array[]
  /** Bytes of `transactions` and of what a singular batch adds to them, before compression. */
  rawSizeBytes: number
  /** What the block is thought to add to L1, compressed. */
  estimatedDaBytes: number
}

/** op-batcher's allowance for a batch without its transactions. */
const BATCH_OVERHEAD_BYTES = 70
/** op-batcher's allowance for the RLP header of a transaction. */
const TX_OVERHEAD_BYTES = 2

/** Transactions between two pauses: some five milliseconds of hashing and encoding. */
const TRANSACTIONS_PER_SLICE = 200

/**
 * Reads `eth_getBlockByNumber(…, true)` of the L2, pausing so that a large block does not hold the event loop. Throws
 * DecodeError when it cannot be made into a batch.
 */
export async function batcherBlockFromJson(json: unknown): Promise<BatcherBlock> {
  const block = new JsonObjectReader(json, 'L2 block')
  const hash = block.hex('hash', 32)
  const all = block.array('transactions')
  const [first] = all
  if (first === undefined) throw new DecodeError(`block ${hash} has no transactions`)
  const infoTx = asObject(first, 'first transaction')
  if (typeOfJson(infoTx) !== DEPOSIT_TX_TYPE) throw new DecodeError('first transaction in block is not a deposit tx')
  const info = parseL1Info(jsonBytes(infoTx.input, 'L1 info'))

  const transactions: Uint8Array[] = []
  let rawSizeBytes = BATCH_OVERHEAD_BYTES
  let estimatedDaBytes = BATCH_OVERHEAD_BYTES
  for (const item of all) {
    if (typeOfJson(asObject(item, 'transaction')) === DEPOSIT_TX_TYPE) continue
    const encoded = batchTransaction(item)
    transactions.push(encoded)
    rawSizeBytes += encoded.length + TX_OVERHEAD_BYTES
    estimatedDaBytes += estimatedDaSize(encoded)
    if (transactions.length % TRANSACTIONS_PER_SLICE === 0) await nextTurn()
  }
  return {
    hash,
    number: block.quantityNumber('number'),
    parentHash: block.hex('parentHash', 32),
    timestamp: block.quantityNumber('timestamp'),
    l1Origin: { hash: info.blockHash, number: info.number },
    sequenceNumber: info.sequenceNumber,
    transactions: packed(transactions),
    rawSizeBytes,
    estimatedDaBytes,
  }
}

/** The same in one piece of memory: one of its own costs each more than a short transaction has bytes. */
function packed(transactions: readonly Uint8Array[]): Uint8Array[] {
  const all = concatBytes(...transactions)
  let end = 0
  return transactions.map(({ length }) => {
    end += length
    return all.subarray(end - length, end)
  })
}

/**
 * The encoding of a transaction. Its hash is compared with the transaction's own, so a field that was left out or misread can
 * never reach a batch. Throws DecodeError, also for types that have no place in a batch (deposits, blob transactions).
 */
export function batchTransaction(json: unknown): Uint8Array {
  const tx = asObject(json, 'transaction')
  const type = typeOfJson(tx)
  if (!isSpanTxType(type)) throw new DecodeError(`transaction ${String(tx.hash)}: type ${type} cannot be in a batch`)
  const encoded = transactionFromJson(tx)
  const hash = keccak256Hex(encoded)
  if (typeof tx.hash !== 'string' || tx.hash.toLowerCase() !== hash)
    throw new DecodeError(`transaction ${String(tx.hash)}: its JSON encodes to another hash, ${hash}`)
  return encoded
}

/** What V8 takes for a block beside its transactions' bytes, and for each of its transactions; measured. */
const BLOCK_OBJECT_BYTES = 700
const TX_OBJECT_BYTES = 110

/** What the block takes in memory. */
export function memoryBytes({ transactions }: Pick<BatcherBlock, 'transactions'>): number {
  return transactions.reduce((sum, { length }) => sum + length + TX_OBJECT_BYTES, BLOCK_OBJECT_BYTES)
}

/** Fjord's linear model of a transaction's share of a compressed batch (specs: fjord/exec-engine, "L1-Cost fees"). */
function estimatedDaSize(transaction: Uint8Array): number {
  const scaled = -42_585_600 + 836_500 * fastLzLength(transaction)
  return Math.floor(Math.max(100_000_000, scaled) / 1_000_000)
}
