import type { Hex } from '../../lib/hex.ts'
import type { BlobSidecar } from './sidecar.ts'
import type { L1Tx, SignedTx } from './transaction.ts'

/** A transaction that is not confirmed yet, for people. */
export interface InFlightTx {
  nonce: number
  /** Hash of the newest version. */
  hash: Hex
  blobs: number
  /** Since when it is sent. */
  startedAtMs: number
  /** How often its fees were raised. */
  bumps: number
  tipWei: bigint
  feeCapWei: bigint
  blobFeeCapWei: bigint | undefined
  /** The L1 block that holds a version of it. */
  minedIn: number | undefined
  /** L1 blocks since the L1 took its newest version, all without it; undefined: it has not taken it. */
  missedBlocks: number | undefined
  /** Why the L1 did not take it or cannot mine it, or why its fees were not raised, when that was tried last. */
  problem: string | undefined
}

/** A transaction ready to be published. */
export interface CraftedTx {
  tx: L1Tx
  signed: SignedTx
  sidecar?: BlobSidecar | undefined
}
