import { concatBytes } from '../../../lib/bytes.ts'
import { encodeRlp, rlpListHeader } from '../../../lib/rlp.ts'
import { RlpCursor } from '../../../lib/rlpCursor.ts'
import { BLOB_TX_TYPE } from './fields.ts'

export interface BlobsWithProofs {
  /** 0: one proof for each blob (EIP-4844); 1: 128 cell proofs for each blob (EIP-7594). */
  version: 0 | 1
  blobs: readonly Uint8Array[]
  commitments: readonly Uint8Array[]
  /** The proofs of all blobs, in order. */
  proofs: readonly Uint8Array[]
}

/**
 * The form in which a signed blob transaction is sent to an L1 node: `03 ‖ rlp([transaction, blobs, commitments,
 * proofs])` (EIP-4844, "Networking"). Version 1 adds a version byte after the transaction (EIP-7594, "Networking").
 */
export function networkForm(raw: Uint8Array, { version, blobs, commitments, proofs }: BlobsWithProofs): Uint8Array {
  const parts = [
    raw.subarray(1),
    ...(version === 1 ? [encodeRlp(version)] : []),
    ...[blobs, commitments, proofs].map((part) => encodeRlp(part)),
  ]
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return concatBytes(raw.subarray(0, 1), rlpListHeader(length), ...parts)
}

/**
 * Splits the network form into the transaction and its blobs; undefined if the bytes are not in network form. `offset`
 * is the distance from a field's position in `raw` to its position in the bytes. Throws DecodeError.
 */
export function readNetworkForm(
  bytes: Uint8Array,
): { raw: Uint8Array; offset: number; blobs: Uint8Array[] } | undefined {
  if (bytes[0] !== BLOB_TX_TYPE) return undefined
  const cursor = new RlpCursor(bytes, 'blob transaction')
  cursor.readList(1, bytes.length)
  const { start, end } = cursor
  cursor.read(start, end, 'fields')
  if (!cursor.isList) return undefined
  const raw = concatBytes(bytes.subarray(0, 1), bytes.subarray(start, cursor.end))
  cursor.read(cursor.end, end, 'version')
  if (!cursor.isList) cursor.readList(cursor.end, end, 'blobs')
  const blobs: Uint8Array[] = []
  const blobsEnd = cursor.end
  for (cursor.end = cursor.start; cursor.end < blobsEnd; ) {
    cursor.nextString(blobsEnd, 'blob')
    blobs.push(bytes.subarray(cursor.start, cursor.end))
  }
  return { raw, offset: start - 1, blobs }
}
