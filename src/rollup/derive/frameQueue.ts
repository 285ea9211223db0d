import { DecodeError, describeError } from '../../lib/errors.ts'
import { decodeFrames, type Frame, isForkActive } from '../protocol/index.ts'
import { type Source, Stage } from './stage.ts'
import type { Pull } from './types.ts'

/**
 * Third stage: parses frames from batcher data. Data that do not parse are ignored as a whole. In Holocene L1 blocks,
 * frames that no channel can use are first removed from each transaction or blob (specs: holocene/derivation, "Frame
 * Queue").
 */
export class FrameQueue extends Stage<Source<Uint8Array>> {
  private ready: Frame[] = []

  async next(): Promise<Pull<Frame>> {
    const frame = this.ready.shift()
    if (frame !== undefined) return frame
    const data = await this.prev.next()
    if (data === 'again' || data === 'empty') return data
    this.ready = this.parse(data)
    return 'again'
  }

  private parse(data: Uint8Array): Frame[] {
    try {
      const frames = decodeFrames(data)
      if (!isForkActive(this.config, 'holocene', this.origin.timestamp)) return frames
      const kept = pruneFrames(frames)
      if (kept.length < frames.length) this.emitPruned(frames, new Set(kept))
      return kept
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      const l1Block = this.origin.number
      const reason = describeError(error)
      this.logger.warn('Ignoring batcher data without frames', { l1Block, bytes: data.length, err: reason })
      this.emit({ kind: 'data-ignored', l1Block, what: 'frames', reason })
      return []
    }
  }

  private emitPruned(frames: readonly Frame[], kept: ReadonlySet<Frame>): void {
    const l1Block = this.origin.number
    for (const frame of frames) {
      if (kept.has(frame)) continue
      const reason = 'out of order among the frames of its transaction'
      this.emit({ kind: 'frame-ignored', l1Block, channel: frame.channelId, frame: frame.number, reason })
    }
  }
}

/**
 * Drops frames that cannot be part of an ordered channel: a frame out of sequence, a continuation without its
 * beginning, and an unfinished channel before the beginning of a new one.
 */
export function pruneFrames(frames: readonly Frame[]): Frame[] {
  const kept: Frame[] = []
  for (const frame of frames) {
    for (;;) {
      const last = kept.at(-1)
      if (last === undefined) {
        kept.push(frame)
        break
      }
      const sameChannel = last.channelId === frame.channelId
      if (sameChannel ? !last.isLast && frame.number === last.number + 1 : frame.number === 0 && last.isLast) {
        kept.push(frame)
        break
      }
      // Only the first frame of another channel removes an unfinished channel. The frame is then compared with the
      // previous kept frame.
      if (sameChannel || frame.number !== 0) break
      kept.pop()
    }
  }
  return kept
}
