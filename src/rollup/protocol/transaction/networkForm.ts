import { concatBytes } from '../../../lib/bytes.ts'
import { decodeRlp, encodeRlp, rlpBytes, rlpList, rlpListHeader, splitRlpList } from '../../../lib/rlp.ts'

export interface BlobsWithProofs {
  /** 0: a proof for each blob (EIP-4844); 1: 128 cell proofs for each (EIP-7594). */
  version: 0 | 1
  blobs: readonly Uint8Array[]
  commitments: readonly Uint8Array[]
  /** Of all blobs, in their order. */
  proofs: readonly Uint8Array[]
}

/**
 * The form in which a signed blob transaction is handed to an L1 node: `03 ‖ rlp([transaction, blobs, commitments,
 * proofs])` (EIP-4844, "Networking"), or with a version byte after the transaction (EIP-7594, "Networking").
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

/** The transaction and its blobs; undefined when the bytes are no network form. Throws DecodeError. */
export function readNetworkForm(bytes: Uint8Array): { raw: Uint8Array; blobs: Uint8Array[] } | undefined {
  if (bytes[0] !== 3) return undefined
  const [transaction, second, third] = splitRlpList(bytes.subarray(1), 'blob transaction')
  if (transaction === undefined || (transaction[0] ?? 0) < 0xc0) return undefined
  const blobs = (second?.[0] ?? 0) < 0xc0 ? third : second
  const items = blobs === undefined ? [] : rlpList(decodeRlp(blobs), 'blobs')
  return { raw: concatBytes(bytes.subarray(0, 1), transaction), blobs: items.map((blob) => rlpBytes(blob, 'blob')) }
}
