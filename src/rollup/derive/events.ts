import type { Hex } from '../../lib/hex.ts'

/**
 * Events of the stages, sufficient to explain the position of the safe head. `l1Block` is the number of the pipeline's
 * L1 block.
 */
export type DerivationEvent =
  /** The stages restart at this L1 block and have dropped their data. */
  | { kind: 'started'; l1Block: number }
  /** Batcher data without frames: a malformed blob, or data that do not parse as frames. */
  | { kind: 'data-ignored'; l1Block: number; what: 'blob' | 'frames'; reason: string }
  | { kind: 'frame-added'; l1Block: number; channel: ChannelSnapshot; frame: number }
  | { kind: 'frame-ignored'; l1Block: number; channel: Hex; frame: number; reason: string }
  /** A channel became the first in the queue. */
  | { kind: 'channel-first'; channel: Hex }
  /** A channel was removed. */
  | { kind: 'channel-gone'; l1Block: number; channel: Hex; how: 'read' | 'timed-out' | 'dropped'; reason?: string }
  /** The compressed data of a complete channel are being read. */
  | { kind: 'channel-read'; l1Block: number; bytes: number }
  /** The rest of a channel was dropped while it was read. */
  | { kind: 'channel-left'; l1Block: number; reason: string }
  | { kind: 'batch-read'; l1Block: number; type: BatchType }
  | { kind: 'batch-dropped'; l1Block: number; type: BatchType; reason: string; losesChannel: boolean }
  /** An empty block replaced a block that the batcher did not post in time. */
  | { kind: 'empty-batch'; l1Block: number; timestamp: number }

export type BatchType = 'singular' | 'span'

/** A channel that is being assembled. */
export interface ChannelSnapshot {
  id: Hex
  /** L1 block of its first frame, and the last L1 block at which it may be read. */
  openBlock: number
  lastBlock: number
  frames: number
  /** Total bytes of the frames' data. */
  bytes: number
  /** Total number of frames; undefined until the closing frame arrives. */
  expectedFrames: number | undefined
}

export type DerivationListener = (event: DerivationEvent) => void

export const ignoreEvents: DerivationListener = () => {}
