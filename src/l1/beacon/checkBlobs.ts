import type { Hex } from '../../lib/hex.ts'
import { type Kzg, KzgError, versionedHashOf } from '../../lib/kzg/index.ts'
import type { GivenBlob } from './beaconEndpoint.ts'
import { BeaconError } from './errors.ts'

/**
 * Returns the wanted blobs by versioned hash, verified. An endpoint may return more blobs than requested. Throws
 * BeaconError `beacon-bad-answer` if a blob does not match its commitment, or replaces a wanted blob. Throws KzgError
 * if verification was impossible.
 */
export async function checkBlobs(
  given: readonly GivenBlob[],
  wanted: readonly Hex[],
  kzg: Kzg,
): Promise<Map<Hex, Uint8Array>> {
  const missing = new Set(wanted)
  const found = new Map<Hex, Uint8Array>()
  const withProof: { blob: Uint8Array; commitment: Uint8Array; proof: Uint8Array }[] = []
  const bare: Uint8Array[] = []
  for (const { blob, sidecar } of given) {
    if (sidecar === undefined) {
      bare.push(blob)
      continue
    }
    const hash = versionedHashOf(sidecar.commitment)
    if (!missing.delete(hash)) continue
    withProof.push({ blob, ...sidecar })
    found.set(hash, blob)
  }
  if (withProof.length > 0) {
    const holds = await kzg.verifyBlobProofs(
      withProof.map(({ blob }) => blob),
      withProof.map(({ commitment }) => commitment),
      withProof.map(({ proof }) => proof),
    )
    if (!holds) throw wrong('a blob does not match its commitment')
  }
  if (bare.length > 0) {
    for (const [index, commitment] of (await commitmentsOf(bare, kzg)).entries()) {
      const hash = versionedHashOf(commitment)
      const blob = bare[index]
      if (blob !== undefined && missing.delete(hash)) found.set(hash, blob)
      // The endpoint returned no more blobs than requested, so this blob stands in place of a wanted one.
      else if (!found.has(hash) && bare.length <= wanted.length)
        throw wrong(`a blob has hash ${hash}, which was not requested`)
    }
  }
  return found
}

async function commitmentsOf(blobs: readonly Uint8Array[], kzg: Kzg): Promise<Uint8Array[]> {
  try {
    return await kzg.commitments(blobs)
  } catch (error) {
    if (!(error instanceof KzgError) || error.code !== 'kzg-bad-input') throw error
    throw wrong(error.message, error)
  }
}

function wrong(message: string, cause?: unknown): BeaconError {
  return new BeaconError('beacon-bad-answer', `wrong blob: ${message}`, cause === undefined ? {} : { cause })
}
