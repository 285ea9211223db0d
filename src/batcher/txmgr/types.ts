import type { Hex } from '../../lib/hex.ts'
import type { BlobSidecar } from './sidecar.ts'
import type { L1Tx, SignedTx } from './transaction.ts'

/** An unconfirmed transaction, for operators. */
export interface InFlightTx {
  nonce: number
  /** Hash of the newest version. */
  hash: Hex
  blobs: number
  /** When the send began. */
  startedAtMs: number
  bumps: number
  tipWei: bigint
  feeCapWei: bigint
  blobFeeCapWei: bigint | undefined
  /** The L1 block that contains a version. */
  minedIn: number | undefined
  /** L1 blocks without it since the L1 accepted its newest version. Undefined if the L1 has not accepted it. */
  missedBlocks: number | undefined
  /** Why the L1 refuses or cannot mine it, or why the last fee bump failed. */
  problem: string | undefined
}

export interface CraftedTx {
  tx: L1Tx
  signed: SignedTx
  sidecar?: BlobSidecar | undefined
}
