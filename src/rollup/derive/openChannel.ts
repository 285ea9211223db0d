import { concatBytes } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { FRAME_ACCOUNTING_OVERHEAD_BYTES, type Frame } from '../protocol/index.ts'
import type { ChannelSnapshot } from './events.ts'

/** Why a frame was rejected; undefined if it was accepted. */
export type FrameRefusal = 'duplicate frame' | 'second closing frame' | 'frame after the end' | 'frame out of order'

/** The received frames of one channel (specs: derivation, "Channel Bank"). */
export class OpenChannel {
  readonly id: Hex
  /** L1 block of the channel's first frame. */
  readonly openBlock: number
  private readonly inOrder: boolean
  private readonly frames = new Map<number, Frame>()
  private endNumber: number | undefined
  private accountedBytes = 0
  private dataBytes = 0

  /** `inOrder` (Holocene): each frame must be the next. */
  constructor(id: Hex, openBlock: number, { inOrder }: { inOrder: boolean }) {
    this.id = id
    this.openBlock = openBlock
    this.inOrder = inOrder
  }

  /** Accounted size of the channel in bytes, including the overhead of frames. */
  get size(): number {
    return this.accountedBytes
  }

  /** Whether all frames up to the closing frame have arrived. */
  get isReady(): boolean {
    // Frames above the closing frame are never kept, so the count is sufficient.
    return this.endNumber !== undefined && this.frames.size === this.endNumber + 1
  }

  /** A copy of the current state, for observers. */
  snapshot(timeout: number): ChannelSnapshot {
    return {
      id: this.id,
      openBlock: this.openBlock,
      lastBlock: this.openBlock + timeout,
      frames: this.frames.size,
      bytes: this.dataBytes,
      expectedFrames: this.endNumber === undefined ? undefined : this.endNumber + 1,
    }
  }

  isTimedOut(l1Block: number, timeout: number): boolean {
    return this.openBlock + timeout < l1Block
  }

  add(frame: Frame): FrameRefusal | undefined {
    if (frame.isLast && this.endNumber !== undefined) return 'second closing frame'
    if (this.frames.has(frame.number)) return 'duplicate frame'
    if (this.endNumber !== undefined && frame.number >= this.endNumber) return 'frame after the end'
    if (this.inOrder && frame.number !== this.frames.size) return 'frame out of order'
    if (frame.isLast) {
      this.endNumber = frame.number
      this.prune(frame.number)
    }
    this.frames.set(frame.number, frame)
    this.accountedBytes += accounted(frame)
    this.dataBytes += frame.data.length
    return undefined
  }

  /** Data of all frames in order. Call it only if the channel is ready. */
  data(): Uint8Array {
    const parts = [...this.frames.values()].sort((a, b) => a.number - b.number).map((frame) => frame.data)
    return concatBytes(...parts)
  }

  /**
   * Drops the frames above the closing frame. op-node then subtracts all frames from the size, also those that it
   * keeps. The size decides which channels a full bank drops, so ours must be equal.
   */
  private prune(endNumber: number): void {
    const beyond = [...this.frames.keys()].filter((number) => number > endNumber)
    if (beyond.length === 0) return
    for (const number of beyond) {
      this.dataBytes -= this.frames.get(number)?.data.length ?? 0
      this.frames.delete(number)
    }
    this.accountedBytes = 0
  }
}

function accounted(frame: Frame): number {
  return frame.data.length + FRAME_ACCOUNTING_OVERHEAD_BYTES
}
