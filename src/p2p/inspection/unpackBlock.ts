import { DecodeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import {
  claimedTransactions,
  decodePayloadEnvelope,
  MAX_BLOCK_TRANSACTIONS,
  type PayloadVersion,
  type TransactionReader,
} from '../../rollup/protocol/payload/payloadSsz.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { decodeSnappyFrames } from '../base/snappyFrames.ts'
import { blockHashOf } from './inspection.ts'

/** Limit of an answer on the wire, and of its block. */
export const MAX_RESPONSE_BYTES = 10 * 1024 * 1024

/** A block as it is encoded in an answer. */
export interface FramedBlock {
  frames: Uint8Array
  version: PayloadVersion
}

export interface UnpackedBlock {
  envelope: PayloadEnvelope
  computedHash: Hex
  /** The bytes that contain the transactions. */
  body: Uint8Array
}

/** The result is the same in every process. Throws DecodeError. */
export function unpackBlock({ frames, version }: FramedBlock, read?: TransactionReader): UnpackedBlock {
  return readBlock(decodeSnappyFrames(frames, MAX_RESPONSE_BYTES), version, read)
}

/** Decodes a body. Throws DecodeError. */
export function readBlock(body: Uint8Array, version: PayloadVersion, read?: TransactionReader): UnpackedBlock {
  const count = claimedTransactions(body, version)
  if (count > MAX_BLOCK_TRANSACTIONS)
    throw new DecodeError(`payload: ${count} transactions, more than a block can have`)
  const envelope = decodePayloadEnvelope(body, version, read)
  return { envelope, computedHash: blockHashOf(envelope, body, version, read), body }
}
