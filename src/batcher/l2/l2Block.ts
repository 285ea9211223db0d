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

/** The parts of an L2 block that a batch needs. */
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
  /** Bytes of `transactions` and of the singular batch around them, before compression. */
  rawSizeBytes: number
  /** Estimated compressed bytes that the block adds to L1. */
  estimatedDaBytes: number
}

/** op-batcher's allowance for a batch without its transactions. */
const BATCH_OVERHEAD_BYTES = 70
/** op-batcher's allowance for the RLP header of a transaction. */
const TX_OVERHEAD_BYTES = 2

/** Transactions between two yields to the event loop: about five milliseconds of hashing and encoding. */
const TRANSACTIONS_PER_SLICE = 200

/**
 * Converts an answer of `eth_getBlockByNumber(…, true)`. Yields to the event loop, so that a large block does not hold
 * it. Throws DecodeError if the block cannot become a batch.
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

/** Copies the transactions into one buffer. A buffer of its own costs more memory than a short transaction. */
function packed(transactions: readonly Uint8Array[]): Uint8Array[] {
  const all = concatBytes(...transactions)
  let end = 0
  return transactions.map(({ length }) => {
    end += length
    return all.subarray(end - length, end)
  })
}

/**
 * Encodes a transaction (EIP-2718). The hash must match the JSON's hash, so a missing or misread field never reaches a
 * batch. Throws DecodeError, also for types that cannot be in a batch (deposits, blob transactions).
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

/** Measured V8 memory of a block beyond its raw size, and of each transaction. */
const BLOCK_OBJECT_BYTES = 630
const TX_OBJECT_BYTES = 108

export function memoryBytes({ transactions, rawSizeBytes }: BatcherBlock): number {
  return rawSizeBytes + BLOCK_OBJECT_BYTES + TX_OBJECT_BYTES * transactions.length
}

/** Fjord's linear model of a transaction's share of a compressed batch (specs: fjord/exec-engine, "L1-Cost fees"). */
function estimatedDaSize(transaction: Uint8Array): number {
  const scaled = -42_585_600 + 836_500 * fastLzLength(transaction)
  return Math.floor(Math.max(100_000_000, scaled) / 1_000_000)
}
