import { createRequire } from 'node:module'
import { concatBytes, EMPTY_BYTES } from '../bytes.ts'
import { describeError } from '../errors.ts'
import { KZG_BLOB_BYTES, KZG_POINT_BYTES } from './kzg.ts'

// Work of the KZG process. A task carries its blobs, then their commitments and proofs, if any; or one point proof. An
// answer carries points.

export type KzgOperation = 'commitments' | 'blobProofs' | 'verifyBlobProofs' | 'verifyPointProof' | 'cellProofs'

export interface KzgTask {
  id: number
  operation: KzgOperation
  blobs: number
}

export type KzgAnswer = { id: number; holds?: boolean } | { id: number; fault: string }

/** The part of the library that we use. The library's own type file is not a TypeScript module. */
export interface KzgLibrary {
  asyncBlobToKzgCommitment(blob: Uint8Array): Promise<Uint8Array>
  asyncComputeBlobKzgProof(blob: Uint8Array, commitment: Uint8Array): Promise<Uint8Array>
  asyncVerifyBlobKzgProofBatch(
    blobs: readonly Uint8Array[],
    commitments: readonly Uint8Array[],
    proofs: readonly Uint8Array[],
  ): Promise<boolean>
  asyncVerifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): Promise<boolean>
  asyncComputeCellsAndKzgProofs(blob: Uint8Array): Promise<{ proofs: readonly Uint8Array[] }>
}

/**
 * Takes 1.5 s. Precomputed tables would double the time and the memory, and cell proofs would take two thirds of their
 * time.
 */
export function loadKzgLibrary(): KzgLibrary {
  const { DasContextJs } = createRequire(import.meta.url)('@crate-crypto/node-eth-kzg')
  return DasContextJs.create({ usePrecomp: false })
}

export async function runKzgTask(
  library: KzgLibrary,
  { id, operation, blobs: count }: KzgTask,
  bytes: Uint8Array,
  answer: (answer: KzgAnswer, bytes?: Uint8Array) => void,
): Promise<void> {
  const blobs = cut(bytes, 0, count, KZG_BLOB_BYTES)
  const commitments = cut(bytes, count * KZG_BLOB_BYTES, count, KZG_POINT_BYTES)
  const proofs = cut(bytes, count * (KZG_BLOB_BYTES + KZG_POINT_BYTES), count, KZG_POINT_BYTES)
  const operations: Record<KzgOperation, () => Promise<boolean | readonly Uint8Array[]>> = {
    commitments: () => each(blobs, (blob) => library.asyncBlobToKzgCommitment(blob)),
    blobProofs: () =>
      each(blobs, (blob, index) => library.asyncComputeBlobKzgProof(blob, commitments[index] ?? EMPTY_BYTES)),
    verifyBlobProofs: () => holds(() => library.asyncVerifyBlobKzgProofBatch(blobs, commitments, proofs)),
    verifyPointProof: () => holds(() => verifyPointProof(library, bytes)),
    cellProofs: async () => {
      const made = await each(blobs, (blob) => library.asyncComputeCellsAndKzgProofs(blob))
      return made.flatMap((item) => item.proofs)
    },
  }
  try {
    const made = await operations[operation]()
    if (typeof made === 'boolean') answer({ id, holds: made })
    else answer({ id }, concatBytes(...made))
  } catch (error) {
    answer({ id, fault: describeError(error).slice(0, 200) })
  }
}

/** The library throws on an invalid point. */
async function holds(verify: () => Promise<boolean>): Promise<boolean> {
  try {
    return await verify()
  } catch {
    return false
  }
}

/** Commitment ‖ z ‖ y ‖ proof. */
function verifyPointProof(library: KzgLibrary, bytes: Uint8Array): Promise<boolean> {
  const part = (from: number, to: number) => bytes.subarray(from, to)
  return library.asyncVerifyKzgProof(part(0, 48), part(48, 80), part(80, 112), part(112, 160))
}

/** In parallel: the library computes in its own threads. */
function each<T>(blobs: readonly Uint8Array[], work: (blob: Uint8Array, index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(blobs.map(work))
}

export function cut(bytes: Uint8Array, from: number, count: number, size: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => bytes.subarray(from + index * size, from + (index + 1) * size))
}
