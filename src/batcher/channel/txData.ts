import { EMPTY_BYTES } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { encodeBlob, encodeFrames, type Frame } from '../../rollup/protocol/index.ts'

/** The content of one L1 transaction: frames of one channel, in order. */
export interface TxData {
  /** `<channel id>:<frame number>+<frame number>…` */
  id: string
  channelId: Hex
  frames: readonly Frame[]
  asBlobs: boolean
  /** Whether a block of the channel has a user transaction. */
  hasTransactions: boolean
}

export interface TxPayload {
  data: Uint8Array
  blobs?: Uint8Array[]
}

/**
 * Encodes the frames as calldata, or each frame into its own blob (specs: derivation, "Batcher transaction format").
 */
export function payloadOf({ frames, asBlobs }: Pick<TxData, 'frames' | 'asBlobs'>): TxPayload {
  if (!asBlobs) return { data: encodeFrames(frames) }
  return { data: EMPTY_BYTES, blobs: frames.map((frame) => encodeBlob(encodeFrames([frame]))) }
}
