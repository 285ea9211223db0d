import type { Hex } from '../../lib/hex.ts'

/**
 * What the stages tell of: enough to say why the safe head stands where it does. `l1Block` is the number of the L1 block that
 * derivation stood at.
 */
export type DerivationEvent =
  /** The stages begin anew at this L1 block: what they held is forgotten. */
  | { kind: 'started'; l1Block: number }
  /** Data of the batcher that hold no frames: a malformed blob, or frames that do not parse. */
  | { kind: 'data-ignored'; l1Block: number; what: 'blob' | 'frames'; reason: string }
  | { kind: 'frame-added'; l1Block: number; channel: ChannelSnapshot; frame: number }
  | { kind: 'frame-ignored'; l1Block: number; channel: Hex; frame: number; reason: string }
  /** A channel became the first that is waited for. */
  | { kind: 'channel-first'; channel: Hex }
  /** A channel is held no longer. */
  | { kind: 'channel-gone'; l1Block: number; channel: Hex; how: 'read' | 'timed-out' | 'dropped'; reason?: string }
  /** Compressed data of a whole channel are read. */
  | { kind: 'channel-read'; l1Block: number; bytes: number }
  /** The rest of a channel that was being read is lost. */
  | { kind: 'channel-left'; l1Block: number; reason: string }
  | { kind: 'batch-read'; l1Block: number; type: BatchType }
  | { kind: 'batch-dropped'; l1Block: number; type: BatchType; reason: string; losesChannel: boolean }
  /** An empty block in the place of one that the batcher did not post in time. */
  | { kind: 'empty-batch'; l1Block: number; timestamp: number }

export type BatchType = 'singular' | 'span'

/** A channel that is being put together. */
export interface ChannelSnapshot {
  id: Hex
  /** L1 block of its first frame, and the last one at which it may be read. */
  openBlock: number
  lastBlock: number
  frames: number
  /** Of the frames' data. */
  bytes: number
  /** How many frames there will be; undefined before the closing one came. */
  expectedFrames: number | undefined
}

export type DerivationListener = (event: DerivationEvent) => void

export const unheard: DerivationListener = () => {}
