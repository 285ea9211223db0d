import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, rlpBytes, rlpList, rlpNumber } from '../../lib/rlp.ts'

export const SINGULAR_BATCH_TYPE = 0

/** One L2 block without its deposits (specs: derivation, "Batch format"). */
export interface SingularBatch {
  type: 'singular'
  parentHash: Hex
  /** Number of the L1 origin. */
  epochNumber: number
  epochHash: Hex
  timestamp: number
  transactions: Uint8Array[]
}

/** Batch type byte and RLP; inside a channel this stands as an RLP string. */
export function encodeSingularBatch(batch: Omit<SingularBatch, 'type'>): Uint8Array {
  const content = encodeRlp([
    fromHex(batch.parentHash, 32, 'parent hash'),
    batch.epochNumber,
    fromHex(batch.epochHash, 32, 'epoch hash'),
    batch.timestamp,
    batch.transactions,
  ])
  return concatBytes(Uint8Array.of(SINGULAR_BATCH_TYPE), content)
}

/** Transactions are views into the input. Throws DecodeError. */
export function decodeSingularBatch(bytes: Uint8Array): SingularBatch {
  if (bytes[0] !== SINGULAR_BATCH_TYPE) throw new DecodeError(`singular batch: type byte is ${bytes[0]}`)
  const fields = rlpList(decodeRlp(bytes.subarray(1)), 'singular batch', 5)
  return {
    type: 'singular',
    parentHash: toHex(rlpBytes(fields[0], 'singular batch parent hash', 32)),
    epochNumber: rlpNumber(fields[1], 'singular batch epoch number'),
    epochHash: toHex(rlpBytes(fields[2], 'singular batch epoch hash', 32)),
    timestamp: rlpNumber(fields[3], 'singular batch timestamp'),
    transactions: rlpList(fields[4], 'singular batch transactions').map((tx) => rlpBytes(tx, 'transaction')),
  }
}
