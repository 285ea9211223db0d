import { concatBytes } from '../../../lib/bytes.ts'
import type { Hex } from '../../../lib/hex.ts'
import type { Frame } from '../../../rollup/protocol/index.ts'

/** A channel assembled from the frames of one id. */
export interface JoinedChannel {
  id: Hex
  frames: Frame[]
  /** Number of frames according to the closing frame; null without a closing frame. */
  expected: number | null
  missing: number[]
  isComplete: boolean
  /** Frames that no channel accepts: a repeated frame number, or a frame after the closing frame. */
  refused: string[]
  /** Data of the contiguous frames from the first on. */
  data: Uint8Array
}

/** Returns channels in the order of their first given frame. Frames may come in any order, as inputs do. */
export function joinChannels(frames: readonly Frame[]): JoinedChannel[] {
  const byId = Map.groupBy(frames, ({ channelId }) => channelId)
  return [...byId].map(([id, found]) => joinChannel(id, found))
}

function joinChannel(id: Hex, found: readonly Frame[]): JoinedChannel {
  const refused: string[] = []
  const byNumber = new Map<number, Frame>()
  const closing = found.find((frame) => frame.isLast)
  for (const frame of found) {
    if (byNumber.has(frame.number)) refused.push(`frame ${frame.number} is a duplicate`)
    else if (closing !== undefined && frame.number > closing.number) {
      refused.push(`frame ${frame.number} comes after the closing frame ${closing.number}`)
    } else byNumber.set(frame.number, frame)
  }
  const frames = [...byNumber.values()].sort((a, b) => a.number - b.number)
  const expected = closing === undefined ? null : closing.number + 1
  const missing: number[] = []
  const end = expected ?? (frames.at(-1)?.number ?? -1) + 1
  for (let number = 0; number < end; number++) if (!byNumber.has(number)) missing.push(number)
  const contiguous = frames.slice(0, missing[0] ?? frames.length)
  return {
    id,
    frames,
    expected,
    missing,
    isComplete: expected !== null && missing.length === 0,
    refused,
    data: concatBytes(...contiguous.map((frame) => frame.data)),
  }
}
