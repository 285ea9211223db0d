import type { BatcherBlock } from '../l2/l2Block.ts'

/** Why a channel takes no more blocks. The texts are what operators of op-batcher know. */
export const CHANNEL_FULL_REASONS = {
  compressor: 'compressor is full',
  rlpLimit: 'batch would cause RLP bytes to go over limit',
  maxFrames: 'max frame index reached (uint16)',
  duration: 'max channel duration reached',
  channelTimeout: 'close to channel timeout',
  sequencerWindow: 'close to sequencer window timeout',
  terminated: 'channel terminated',
} as const
export type ChannelFullReason = keyof typeof CHANNEL_FULL_REASONS

export interface AddBlockOutcome {
  /** False: the block did not fit and stays with the caller. */
  added: boolean
  /** Set once no further block will be taken. */
  full?: Extract<ChannelFullReason, 'compressor' | 'rlpLimit'>
  /** So many blocks that were taken before, the newest, did not fit after all and are the caller's again. Default 0. */
  returned?: number
}

/** Turns L2 blocks into the bytes of one channel. Calls must not overlap. */
export interface ChannelOut {
  /** RLP bytes that went in. */
  readonly inputBytes: number
  /** Compressed bytes that can be taken now and will not change. */
  readonly readyBytes: number
  addBlock(block: BatcherBlock): Promise<AddBlockOutcome>
  /** Ends the channel: the rest of its bytes become ready. Resolves with the number of blocks returned, as `addBlock` does. */
  close(): Promise<number>
  read(maxBytes: number): Uint8Array
  /** Frees what is native. */
  destroy(): void
}
