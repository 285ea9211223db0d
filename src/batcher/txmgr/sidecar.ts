import type { Hex } from '../../lib/hex.ts'
import { type Kzg, versionedHashOf } from '../../lib/kzg/index.ts'
import type { BlobsWithProofs } from '../../rollup/protocol/index.ts'

/** Blobs that one transaction may carry (EIP-7594). */
export const MAX_BLOBS_PER_TX = 6

/** The blobs of a transaction with what proves that they are those that it names. */
export interface BlobSidecar extends BlobsWithProofs {
  versionedHashes: readonly Hex[]
}

/** Commits to blobs of 131,072 bytes. Throws KzgError. */
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

/** Osaka's times of the L1s that are known by name. */
const OSAKA_TIMES = new Map<bigint, number>([
  [1n, 1_764_798_551],
  [17_000n, 1_759_308_480],
  [11_155_111n, 1_760_427_360],
  [560_048n, 1_761_677_592],
])

/** The L1 must have passed the time by a block before the other form is sent. */
const CELL_PROOF_DELAY_SECONDS = 12

/** Whether the L1 wants cell proofs now; `cellProofTime` is the operator's, for an L1 that is not known by name. */
export function wantsCellProofs(chainId: bigint, cellProofTime: number | undefined, nowSeconds: number): boolean {
  const time = cellProofTime ?? OSAKA_TIMES.get(chainId)
  return time !== undefined && time < nowSeconds - CELL_PROOF_DELAY_SECONDS
}
