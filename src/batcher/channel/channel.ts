import { concatBytes } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { FRAME_ENCODING_OVERHEAD_BYTES, type Frame } from '../../rollup/protocol/index.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import { MAX_BLOBS_PER_TX } from '../txmgr/sidecar.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { AddBlockOutcome, ChannelFullReason, ChannelOut } from './channelOut.ts'
import { calldataCost } from './daChoice.ts'
import type { TxData } from './txData.ts'

export interface TxCost {
  feeWei: bigint
  /** Wei per gas. */
  gasPriceWei: bigint
}

const NO_COST: TxCost = { feeWei: 0n, gasPriceWei: 0n }
/** Largest calldata that geth's pool accepts, without the other fields of a transaction. */
const MAX_CALLDATA_FRAME_BYTES = 120_000

/**
 * One channel from its first block to its last confirmation. `nextTxData` hands out the frames in order. If a
 * transaction fails, the cursor goes back to its frame, so that frames never reach L1 out of order: Holocene drops a
 * channel whose frames are out of order.
 */
export class Channel {
  readonly id: Hex
  /** The channel is sent as it says. `repack` changes it. */
  config: ChannelConfig
  readonly blocks: BatcherBlock[] = []
  private readonly out: ChannelOut
  private readonly frames: Frame[] = []
  private cursor = 0
  /** The channel accepts no more blocks, and all its frames exist. */
  isClosed = false
  fullReason: ChannelFullReason | undefined
  /** The L1 block at which the channel closes at the latest, and the reason. It is never raised. */
  closesAt: { l1Block: number; reason: ChannelFullReason } | undefined
  /** Frames of the transactions in flight. */
  private readonly pending = new Map<string, readonly Frame[]>()
  private readonly confirmed = new Set<number>()
  private firstInclusionBlock: number | undefined
  /** L1 block of the latest confirmed frame. */
  lastInclusionBlock = 0
  /** Cost of the confirmed transactions. */
  costWei = 0n
  /** Cost of the same data as calldata. */
  calldataCostWei = 0n
  private isBusy = false
  private isDestroyed = false

  /** @param durationFrom the L1 origin from which the maximal duration counts */
  constructor(id: Hex, config: ChannelConfig, out: ChannelOut, durationFrom: number) {
    this.id = id
    this.config = config
    this.out = out
    if (config.maxChannelDuration !== 0) this.lowerDeadline(durationFrom + config.maxChannelDuration, 'duration')
  }

  get isFull(): boolean {
    return this.fullReason !== undefined
  }

  /** Number of the block after the last one in the channel. */
  get nextL2Number(): number | undefined {
    const latest = this.latestL2
    return latest === undefined ? undefined : latest.number + 1
  }

  get latestL2(): BatcherBlock | undefined {
    return this.blocks.at(-1)
  }

  /** Whether a block of the channel has a user transaction. */
  get hasTransactions(): boolean {
    return this.blocks.some(({ transactions }) => transactions.length > 0)
  }

  get inputBytes(): number {
    return this.out.inputBytes
  }

  /** Bytes in frames so far. */
  get outputBytes(): number {
    return this.frames.reduce((sum, { data }) => sum + data.length, 0)
  }

  /** Estimated bytes on L1. Exact once the channel has frames. */
  get daBytes(): number {
    if (this.frames.length > 0) return this.outputBytes
    return this.blocks.reduce((sum, { estimatedDaBytes }) => sum + estimatedDaBytes, 0)
  }

  /** Output bytes divided by input bytes, rounded to three digits. */
  get comprRatio(): number {
    return this.inputBytes === 0 ? 0 : Number((this.outputBytes / this.inputBytes).toFixed(3))
  }

  get frameCount(): number {
    return this.frames.length
  }

  /** Whether no frame is in flight or confirmed. */
  get noneSubmitted(): boolean {
    return this.pending.size === 0 && this.confirmed.size === 0
  }

  /** Blobs of an open channel wait until they fill a transaction. */
  get hasTxData(): boolean {
    const waiting = this.frames.length - this.cursor
    return waiting >= (this.config.useBlobs && !this.isClosed ? this.config.targetNumFrames : 1)
  }

  get isFullySubmitted(): boolean {
    return this.isClosed && this.cursor === this.frames.length && this.pending.size === 0
  }

  /** The first and last frame are too far apart on L1: derivation drops the channel. */
  get isTimedOut(): boolean {
    return (
      this.firstInclusionBlock !== undefined &&
      this.lastInclusionBlock - this.firstInclusionBlock >= this.config.channelTimeout
    )
  }

  async addBlock(block: BatcherBlock): Promise<AddBlockOutcome> {
    const outcome = await this.busy(() => this.out.addBlock(block))
    this.blocks.length -= outcome.returned ?? 0
    if (outcome.added) {
      this.blocks.push(block)
      const { seqWindowSize, subSafetyMargin } = this.config
      this.lowerDeadline(block.l1Origin.number + seqWindowSize - subSafetyMargin, 'sequencerWindow')
    }
    if (outcome.full !== undefined) this.setFull(outcome.full)
    return outcome
  }

  /** Closes the channel if the L1 has reached its deadline. */
  checkDeadline(l1Head: number): void {
    if (this.closesAt !== undefined && l1Head >= this.closesAt.l1Block) this.setFull(this.closesAt.reason)
  }

  /** The first reason stays. */
  setFull(reason: ChannelFullReason): void {
    this.fullReason ??= reason
  }

  /**
   * Makes frames of the ready bytes, or of all bytes once the channel is full. Returns whether this call closed the
   * channel. Closing may remove the newest blocks from the channel, if they do not fit.
   */
  async outputFrames(): Promise<boolean> {
    if (this.isClosed) return false
    const maxData = this.config.maxFrameBytes - FRAME_ENCODING_OVERHEAD_BYTES
    if (!this.isFull) {
      while (this.out.readyBytes >= maxData) this.pushFrame(this.out.read(maxData), false)
      return false
    }
    const returned = await this.busy(() => this.out.close())
    this.blocks.length -= returned
    this.isClosed = true
    do {
      const data = this.out.read(maxData)
      this.pushFrame(data, this.out.readyBytes === 0)
    } while (this.out.readyBytes > 0)
    return true
  }

  /**
   * Splits the data into frames again, for the other kind of transaction. Call it only on a closed channel of which
   * nothing was submitted.
   */
  repack(config: ChannelConfig): void {
    if (config === this.config) return
    this.config = config
    const data = concatBytes(...this.frames.map((frame) => frame.data))
    this.frames.length = 0
    const maxData = config.maxFrameBytes - FRAME_ENCODING_OVERHEAD_BYTES
    let start = 0
    do {
      const end = Math.min(start + maxData, data.length)
      this.pushFrame(data.subarray(start, end), end === data.length)
      start = end
    } while (start < data.length)
  }

  /** The next frame, or with blobs as many frames as one transaction carries. Call it only if `hasTxData`. */
  nextTxData(): TxData {
    const { useBlobs } = this.config
    const frames = this.frames.slice(this.cursor, this.cursor + (useBlobs ? MAX_BLOBS_PER_TX : 1))
    this.cursor += frames.length
    const id = `${this.id.slice(2)}:${frames.map(({ number }) => number).join('+')}`
    this.pending.set(id, frames)
    return { id, channelId: this.id, frames, asBlobs: useBlobs, hasTransactions: this.hasTransactions }
  }

  txFailed(id: string): void {
    const [first] = this.pending.get(id) ?? []
    if (first === undefined) return
    this.pending.delete(id)
    this.cursor = Math.min(this.cursor, first.number)
  }

  txConfirmed(id: string, inclusionBlock: number, cost: TxCost = NO_COST): void {
    const frames = this.pending.get(id)
    if (frames === undefined) return
    this.costWei += cost.feeWei
    const bytes = frames.reduce((sum, { data }) => sum + data.length + FRAME_ENCODING_OVERHEAD_BYTES, 1)
    const asCalldata = { baseFee: cost.gasPriceWei, tip: 0n }
    this.calldataCostWei += this.config.useBlobs
      ? calldataCost(bytes, MAX_CALLDATA_FRAME_BYTES, asCalldata)
      : cost.feeWei
    this.pending.delete(id)
    for (const { number } of frames) this.confirmed.add(number)
    this.firstInclusionBlock = Math.min(this.firstInclusionBlock ?? inclusionBlock, inclusionBlock)
    this.lastInclusionBlock = Math.max(this.lastInclusionBlock, inclusionBlock)
    this.lowerDeadline(inclusionBlock + this.config.channelTimeout - this.config.subSafetyMargin, 'channelTimeout')
  }

  /** Frees native memory. If a compression step is running, it is freed after that step. */
  destroy(): void {
    this.isDestroyed = true
    if (!this.isBusy) this.out.destroy()
  }

  private async busy<T>(step: () => Promise<T>): Promise<T> {
    this.isBusy = true
    try {
      return await step()
    } finally {
      this.isBusy = false
      if (this.isDestroyed) this.out.destroy()
    }
  }

  private pushFrame(data: Uint8Array, isLast: boolean): void {
    this.frames.push({ channelId: this.id, number: this.frames.length, data, isLast })
  }

  private lowerDeadline(l1Block: number, reason: ChannelFullReason): void {
    if (this.closesAt === undefined || l1Block < this.closesAt.l1Block) this.closesAt = { l1Block, reason }
  }
}
