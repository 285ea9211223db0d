import { DeviumError } from '../errors.ts'
import { sha256 } from '../hash.ts'
import { type Hex, toHex } from '../hex.ts'

/** 4096 field elements of 32 bytes, big-endian (EIP-4844). */
export const KZG_BLOB_BYTES = 131_072
/** A compressed G1 point: a commitment or a proof. */
export const KZG_POINT_BYTES = 48
/** The number of cells, and of cell proofs, of an extended blob (EIP-7594, `CELLS_PER_EXT_BLOB`). */
export const CELLS_PER_BLOB = 128

/**
 * KZG of EIP-4844 and EIP-7594, many blobs at a time. Each list has one item for each blob, in the same order. Rejects
 * with KzgError. Times below are for one core.
 */
export interface Kzg {
  /** 48 bytes for each blob; takes 40 ms a blob. */
  commitments(blobs: readonly Uint8Array[]): Promise<Uint8Array[]>
  /** 48 bytes for each blob; takes 45 ms a blob. Each commitment must be the blob's own. */
  blobProofs(blobs: readonly Uint8Array[], commitments: readonly Uint8Array[]): Promise<Uint8Array[]>
  /** Whether all proofs are valid; takes 2.3 ms a blob. An invalid blob or point gives false. */
  verifyBlobProofs(
    blobs: readonly Uint8Array[],
    commitments: readonly Uint8Array[],
    proofs: readonly Uint8Array[],
  ): Promise<boolean>
  /**
   * Whether the committed polynomial has the value `y` at `z`, 32 bytes each; takes 1.1 ms. An invalid field element or
   * point gives false.
   */
  verifyPointProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): Promise<boolean>
  /** 128 proofs of 48 bytes for each blob, in the order of the cells; takes 0.25 s a blob. */
  cellProofs(blobs: readonly Uint8Array[]): Promise<Uint8Array[][]>
  /** Optional. Loads the library before the first call; takes 1.5 s. */
  start(): void
  /** Stops the process. Pending and later calls reject. */
  close(): Promise<void>
}

/**
 * `kzg-bad-input`: the caller's data are not valid blobs or points. `kzg-process-failed`: the process did not start,
 * crashed, or is closed. `kzg-timed-out`: the process hung and was replaced. The last two are temporary.
 */
export class KzgError extends DeviumError<'kzg-bad-input' | 'kzg-process-failed' | 'kzg-timed-out'> {
  override readonly name = 'KzgError'
}

const BLOB_COMMITMENT_VERSION = 0x01

/**
 * The hash that identifies a blob in a transaction: `0x01 ‖ sha256(commitment)[1..]` (EIP-4844,
 * `kzg_to_versioned_hash`).
 */
export function versionedHashOf(commitment: Uint8Array): Hex {
  const hash = Uint8Array.from(sha256(commitment))
  hash[0] = BLOB_COMMITMENT_VERSION
  return toHex(hash)
}

/** Order of the scalar field of BLS12-381 (EIP-4844, `BLS_MODULUS`), big-endian. */
const FIELD_ORDER = Buffer.from('73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001', 'hex')

/** Why these bytes are not a valid blob; undefined if they are valid. */
export function blobFault(blob: Uint8Array): string | undefined {
  if (blob.length !== KZG_BLOB_BYTES) return `${blob.length} bytes, expected ${KZG_BLOB_BYTES}`
  for (let at = 0; at < blob.length; at += 32) {
    if ((blob[at] ?? 0) < 0x73) continue
    if (FIELD_ORDER.compare(blob, at, at + 32) <= 0) return `field element ${at / 32} is not below the field's order`
  }
  return undefined
}
