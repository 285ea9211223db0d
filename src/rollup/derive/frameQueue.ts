import { DecodeError, describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { decodeFrames, type Frame, isForkActive } from '../protocol/index.ts'
import type { L1BlockRef, RollupConfig } from '../protocol/types.ts'
import { type DerivationListener, unheard } from './events.ts'
import type { Pull } from './types.ts'

/** Source of raw batcher data with the L1 block it comes from. */
export interface DataStage {
  readonly origin: L1BlockRef
  next(): Promise<Pull<Uint8Array>>
}

/**
 * Third stage: frames out of batcher data; whatever does not parse is ignored whole. In L1 blocks of Holocene the frames of each piece of
 * data (a transaction's or a blob's) are first rid of those that no channel can use (specs: holocene/derivation, "Frame Queue").
 */
export class FrameQueue {
  private readonly prev: DataStage
  private readonly logger: Logger
  private readonly tell: DerivationListener
  private readonly config: RollupConfig
  private ready: Frame[] = []

  constructor(
    { prev, logger, tell = unheard }: { prev: DataStage; logger: Logger; tell?: DerivationListener },
    config: RollupConfig,
  ) {
    this.prev = prev
    this.logger = logger
    this.tell = tell
    this.config = config
  }

  get origin(): L1BlockRef {
    return this.prev.origin
  }

  async next(): Promise<Pull<Frame>> {
    const frame = this.ready.shift()
    if (frame !== undefined) return frame
    const data = await this.prev.next()
    if (data === 'again') return 'again'
    if (data === 'empty') return 'empty'
    this.ready = this.parse(data)
    return 'again'
  }

  private parse(data: Uint8Array): Frame[] {
    try {
      const frames = decodeFrames(data)
      if (!isForkActive(this.config, 'holocene', this.origin.timestamp)) return frames
      const kept = pruneFrames(frames)
      if (kept.length < frames.length) this.tellPruned(frames, new Set(kept))
      return kept
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.logger.warn('Ignoring batcher data without frames', {
        l1Block: this.origin.number,
        bytes: data.length,
        err: describeError(error),
      })
      const reason = describeError(error)
      this.tell({ kind: 'data-ignored', l1Block: this.origin.number, what: 'frames', reason })
      return []
    }
  }

  private tellPruned(frames: readonly Frame[], kept: ReadonlySet<Frame>): void {
    const l1Block = this.origin.number
    for (const frame of frames) {
      if (kept.has(frame)) continue
      const reason = 'out of order among the frames of its transaction'
      this.tell({ kind: 'frame-ignored', l1Block, channel: frame.channelId, frame: frame.number, reason })
    }
  }
}

/**
 * Drops frames that cannot be part of a channel in order: a frame out of its channel's sequence, a continuation without its
 * beginning, and an unfinished channel before a new one starts.
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
      // Only the beginning of another channel pushes out what is unfinished; the frame is then compared with what comes before.
      if (sameChannel || frame.number !== 0) break
      kept.pop()
    }
  }
  return kept
}
