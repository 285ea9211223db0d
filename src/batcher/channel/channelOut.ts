import type { BatcherBlock } from '../l2/l2Block.ts'

/** Why a channel accepts no more blocks. The texts are op-batcher's. */
export const CHANNEL_FULL_REASONS = {
  compressor: 'compressor is full',
  rlpLimit: 'batch would cause RLP bytes to go over limit',
  duration: 'max channel duration reached',
  channelTimeout: 'close to channel timeout',
  sequencerWindow: 'close to sequencer window timeout',
  terminated: 'channel terminated',
} as const
export type ChannelFullReason = keyof typeof CHANNEL_FULL_REASONS

export interface AddBlockOutcome {
  /** False: the block did not fit. The caller keeps it. */
  added: boolean
  /** Set once no further block is accepted. */
  full?: Extract<ChannelFullReason, 'compressor' | 'rlpLimit'>
  /** Number of the newest accepted blocks that did not fit after all. The caller gets them back. Default 0. */
  returned?: number
}

/** Turns L2 blocks into the bytes of one channel. Calls must not overlap. */
export interface ChannelOut {
  readonly inputBytes: number
  /** Compressed bytes that can be read now and will not change. */
  readonly readyBytes: number
  addBlock(block: BatcherBlock): Promise<AddBlockOutcome>
  /**
   * Ends the channel: the rest of its bytes become ready. Resolves with the number of returned blocks, like `addBlock`.
   */
  close(): Promise<number>
  read(maxBytes: number): Uint8Array
  /** Frees native memory. */
  destroy(): void
}
