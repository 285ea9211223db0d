import { DecodeError } from '../../lib/errors.ts'
import { fromHex } from '../../lib/hex.ts'
import { decodeSignedTransaction } from '../tx/decodeTransaction.ts'

/** Encodings of signed transactions go with it, one behind the other, each so long. */
export interface SenderTask {
  id: number
  lengths: readonly number[]
}

/** 20 bytes for each of the task's transactions go with it. */
export interface SenderAnswer {
  id: number
}

export const ADDRESS_BYTES = 20

/** Senders of the transactions, in their order; zeros where there is none: whoever decodes it finds out why. */
export function recoverSenders(lengths: readonly number[], encodings: Uint8Array): Uint8Array {
  const senders = new Uint8Array(lengths.length * ADDRESS_BYTES)
  let at = 0
  for (const [index, length] of lengths.entries()) {
    const raw = encodings.subarray(at, at + length)
    at += length
    try {
      senders.set(fromHex(decodeSignedTransaction(raw).from), index * ADDRESS_BYTES)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
    }
  }
  return senders
}
