import type { Hex } from '../../lib/hex.ts'
import type { BlockHeader } from '../primitives/block.ts'

/** Engine API payload status. `latestValidHash` null = unknown. */
export type PayloadStatus =
  | { status: 'VALID'; latestValidHash: Hex }
  | { status: 'INVALID'; latestValidHash: Hex | null; validationError: string }
  | { status: 'SYNCING'; latestValidHash: null }

/** Zero hashes mean unset. */
export interface ForkchoiceState {
  headBlockHash: Hex
  safeBlockHash: Hex
  finalizedBlockHash: Hex
}

export type ForkchoiceResult =
  | { status: 'VALID'; head: BlockHeader }
  | { status: 'INVALID'; latestValidHash: Hex | null; validationError: string }
  /** The head block is unknown. */
  | { status: 'SYNCING' }
