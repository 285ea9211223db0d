import type { Hex } from '../../lib/hex.ts'
import { type Kzg, versionedHashOf } from '../../lib/kzg/index.ts'
import type { BlobsWithProofs } from '../../rollup/protocol/index.ts'

/** Most blobs of one transaction (EIP-7594). */
export const MAX_BLOBS_PER_TX = 6

/** The blobs of a transaction with their commitments and proofs. */
export interface BlobSidecar extends BlobsWithProofs {
  versionedHashes: readonly Hex[]
}

/** Computes commitments and proofs of blobs of 131,072 bytes. Throws KzgError. */
export async function createSidecar(
  kzg: Pick<Kzg, 'commitments' | 'blobProofs' | 'cellProofs'>,
  blobs: readonly Uint8Array[],
  { cellProofs }: { cellProofs: boolean },
): Promise<BlobSidecar> {
  const commitments = await kzg.commitments(blobs)
  const proofs = cellProofs ? (await kzg.cellProofs(blobs)).flat() : await kzg.blobProofs(blobs, commitments)
  return {
    version: cellProofs ? 1 : 0,
    blobs,
    commitments,
    proofs,
    versionedHashes: commitments.map(versionedHashOf),
  }
}

/** Osaka times (Unix seconds) of known L1s, by chain ID. */
const OSAKA_TIMES = new Map<bigint, number>([
  [1n, 1_764_798_551],
  [17_000n, 1_759_308_480],
  [11_155_111n, 1_760_427_360],
  [560_048n, 1_761_677_592],
])

/** Cell proofs are sent once the L1 is a block past the fork time. */
const CELL_PROOF_DELAY_SECONDS = 12

/** Whether the L1 requires cell proofs now. `cellProofTime` is the operator's setting for an unknown L1. */
export function wantsCellProofs(chainId: bigint, cellProofTime: number | undefined, nowSeconds: number): boolean {
  const time = cellProofTime ?? OSAKA_TIMES.get(chainId)
  return time !== undefined && time < nowSeconds - CELL_PROOF_DELAY_SECONDS
}
