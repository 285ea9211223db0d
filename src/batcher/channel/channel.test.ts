import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { FRAME_ENCODING_OVERHEAD_BYTES, type Frame } from '../../rollup/protocol/index.ts'
import { createConfig, sizedBlocks } from '../testUtils/managerInTest.ts'
import { Channel } from './channel.ts'
import type { AddBlockOutcome, ChannelOut } from './channelOut.ts'
import { calldataCost } from './daChoice.ts'

const counting = (length: number, first: number) => Uint8Array.from({ length }, (_, index) => first + index)

/** Bytes that are ready at once, or when the channel closes. */
class BytesOut implements ChannelOut {
  inputBytes = 0
  destroyed = 0
  outcome: AddBlockOutcome = { added: true }
  /** A step ends when this does. */
  step = Promise.resolve()
  private ready: Uint8Array
  private readonly rest: Uint8Array
  private readonly returned: number

  constructor({ ready = 0, rest = 0, returned = 0 } = {}) {
    this.ready = counting(ready, 0)
    this.rest = counting(rest, 100)
    this.returned = returned
  }

  get readyBytes(): number {
    return this.ready.length
  }

  async addBlock(): Promise<AddBlockOutcome> {
    await this.step
    return this.outcome
  }

  async close(): Promise<number> {
    this.ready = concatBytes(this.ready, this.rest)
    return this.returned
  }

  read(maxBytes: number): Uint8Array {
    const data = this.ready.subarray(0, maxBytes)
    this.ready = this.ready.subarray(data.length)
    return data
  }

  destroy(): void {
    this.destroyed++
  }
}

const ID = `0x${'ab'.repeat(16)}` as const
/** Ten bytes of data in each frame. */
const SMALL_FRAMES = { maxL1TxSizeBytes: 1 + FRAME_ENCODING_OVERHEAD_BYTES + 10 }
/** Timeout of a channel of the recorded chain, in L1 blocks. */
const CHANNEL_TIMEOUT = createConfig({}).channelTimeout

const channelOf = (out: ChannelOut, options: Parameters<typeof createConfig>[0] = SMALL_FRAMES, durationFrom = 0) =>
  new Channel(ID, createConfig(options), out, durationFrom)

async function closedChannel(bytes: number, options = {}): Promise<Channel> {
  const channel = channelOf(new BytesOut({ rest: bytes }), { ...SMALL_FRAMES, ...options })
  channel.setFull('terminated')
  await channel.outputFrames()
  return channel
}

function takeFrames(channel: Channel): Frame[] {
  const frames: Frame[] = []
  while (channel.hasTxData) frames.push(...channel.nextTxData().frames)
  return frames
}

const shapeOf = ({ number, data, isLast }: Frame) => [number, data.length, isLast]

describe('a channel without blocks', () => {
  it('has no next block, no ratio, no transactions and no deadline', () => {
    const channel = channelOf(new BytesOut())
    expect(channel).toMatchObject({
      nextL2Number: undefined,
      comprRatio: 0,
      hasTransactions: false,
      hasTxData: false,
      noneSubmitted: true,
      isFullySubmitted: false,
      isTimedOut: false,
    })
    channel.checkDeadline(Number.MAX_SAFE_INTEGER)
    expect(channel.isFull).toBe(false)
  })
})

describe('blocks', () => {
  const [first, second] = sizedBlocks(2, 10)
  if (first === undefined || second === undefined) throw new Error('no blocks')

  it('with a user transaction are told from blocks without', async () => {
    const channel = channelOf(new BytesOut())
    await channel.addBlock({ ...first, transactions: [] })
    expect([channel.nextL2Number, channel.hasTransactions]).toEqual([2, false])
    await channel.addBlock(second)
    expect([channel.nextL2Number, channel.hasTransactions]).toEqual([3, true])
  })

  it('leave the channel if they do not fit', async () => {
    const out = new BytesOut({ rest: 5, returned: 1 })
    const channel = channelOf(out)
    await channel.addBlock(first)
    out.outcome = { added: true, returned: 1 }
    await channel.addBlock(second)
    expect(channel.blocks).toEqual([second])
    out.outcome = { added: false, full: 'rlpLimit' }
    await channel.addBlock(second)
    expect([channel.blocks.length, channel.fullReason]).toEqual([1, 'rlpLimit'])
    await channel.outputFrames()
    expect(channel.blocks).toEqual([])
  })

  it('keep the reason of the earliest deadline, and of the first of equal ones', async () => {
    const { seqWindowSize, subSafetyMargin } = createConfig({})
    const window = first.l1Origin.number + seqWindowSize - subSafetyMargin
    for (const [maxChannelDuration, reason] of [
      [window + 1, 'sequencerWindow'],
      [window, 'duration'],
    ] as const) {
      const channel = channelOf(new BytesOut(), { maxChannelDuration })
      await channel.addBlock(first)
      channel.checkDeadline(window - 1)
      expect(channel.fullReason).toBeUndefined()
      channel.checkDeadline(window)
      expect(channel.fullReason).toBe(reason)
    }
  })
})

describe('frames', () => {
  it('of an open channel are whole, and none is the last', async () => {
    const channel = channelOf(new BytesOut({ ready: 20, rest: 5 }))
    expect(await channel.outputFrames()).toBe(false)
    expect([channel.frameCount, channel.isClosed]).toEqual([2, false])
    expect(takeFrames(channel).map(shapeOf)).toEqual([
      [0, 10, false],
      [1, 10, false],
    ])
    expect(await channel.outputFrames()).toBe(false)
    channel.setFull('terminated')
    expect(await channel.outputFrames()).toBe(true)
    expect(takeFrames(channel).map(shapeOf)).toEqual([[2, 5, true]])
  })

  it('are not made again once the channel is closed', async () => {
    const channel = await closedChannel(10)
    expect(await channel.outputFrames()).toBe(false)
    expect(takeFrames(channel).map(shapeOf)).toEqual([[0, 10, true]])
  })

  it('with blobs wait until they fill a transaction, or the channel closes', async () => {
    const options = { dataAvailability: 'blobs' as const, targetNumFrames: 2 }
    const { maxFrameBytes } = createConfig(options)
    const channel = channelOf(new BytesOut({ ready: maxFrameBytes - FRAME_ENCODING_OVERHEAD_BYTES }), options)
    await channel.outputFrames()
    expect([channel.frameCount, channel.hasTxData]).toEqual([1, false])
    channel.setFull('terminated')
    await channel.outputFrames()
    expect(channel.hasTxData).toBe(true)
    expect(channel.nextTxData().frames).toHaveLength(2)
  })

  it('are split again for the other kind of transaction', async () => {
    const channel = await closedChannel(25, { maxL1TxSizeBytes: 1_000 })
    const before = channel.outputBytes
    channel.repack(createConfig(SMALL_FRAMES))
    expect(channel.outputBytes).toBe(before)
    const frames = takeFrames(channel)
    expect(frames.map(shapeOf)).toEqual([
      [0, 10, false],
      [1, 10, false],
      [2, 5, true],
    ])
    expect(concatBytes(...frames.map(({ data }) => data))).toEqual(counting(25, 100))
  })

  it('without data are one last frame, also when they are split again', async () => {
    const channel = await closedChannel(0)
    channel.repack(createConfig({}))
    expect(takeFrames(channel).map(shapeOf)).toEqual([[0, 0, true]])
  })

  it('count against the input for the ratio', async () => {
    const out = new BytesOut({ rest: 10 })
    out.inputBytes = 30
    const channel = channelOf(out)
    channel.setFull('terminated')
    await channel.outputFrames()
    expect(channel.comprRatio).toBe(0.333)
  })
})

describe('transactions', () => {
  it('are sent again in order after a failure', async () => {
    const channel = await closedChannel(30)
    const [first, second] = [channel.nextTxData(), channel.nextTxData()]
    channel.txFailed('unknown')
    channel.txFailed(second.id)
    channel.txFailed(first.id)
    expect(channel.noneSubmitted).toBe(true)
    expect(takeFrames(channel).map(({ number }) => number)).toEqual([0, 1, 2])
  })

  it('submit a channel once none is left or in flight', async () => {
    const channel = await closedChannel(20)
    const first = channel.nextTxData()
    channel.txConfirmed(first.id, 1)
    expect(channel.isFullySubmitted).toBe(false)
    const second = channel.nextTxData()
    expect(channel.isFullySubmitted).toBe(false)
    channel.txConfirmed('unknown', 1)
    channel.txConfirmed(second.id, 1)
    expect(channel.isFullySubmitted).toBe(true)
  })

  it('do not submit a channel that is still open', async () => {
    const channel = channelOf(new BytesOut({ ready: 10 }))
    await channel.outputFrames()
    channel.txConfirmed(channel.nextTxData().id, 1)
    expect([channel.noneSubmitted, channel.isFullySubmitted]).toEqual([false, false])
  })

  it('too far apart on L1 time the channel out, in any order', async () => {
    const channel = await closedChannel(30)
    const ids = [0, 1, 2].map(() => channel.nextTxData().id)
    channel.txConfirmed(ids[0] ?? '', 100)
    channel.txConfirmed(ids[1] ?? '', 99 + CHANNEL_TIMEOUT)
    expect([channel.isTimedOut, channel.lastInclusionBlock]).toEqual([false, 99 + CHANNEL_TIMEOUT])
    channel.txConfirmed(ids[2] ?? '', 99)
    expect([channel.isTimedOut, channel.lastInclusionBlock]).toEqual([true, 99 + CHANNEL_TIMEOUT])
  })

  it('close an open channel before it times out', async () => {
    const channel = channelOf(new BytesOut({ ready: 10 }))
    await channel.outputFrames()
    channel.txConfirmed(channel.nextTxData().id, 100)
    expect(channel.closesAt).toEqual({ l1Block: 100 + CHANNEL_TIMEOUT - 4, reason: 'channelTimeout' })
  })

  const cost = { feeWei: 1_000n, gasPriceWei: 3n }

  it('as calldata cost what they cost', async () => {
    const channel = await closedChannel(20)
    for (let frame = 0; frame < 2; frame++) channel.txConfirmed(channel.nextTxData().id, 1, cost)
    expect([channel.costWei, channel.calldataCostWei]).toEqual([2_000n, 2_000n])
  })

  it('in blobs are compared with the cost of the same bytes as calldata', async () => {
    const channel = await closedChannel(20, { dataAvailability: 'blobs' })
    channel.txConfirmed(channel.nextTxData().id, 1, cost)
    const bytes = 1 + 20 + FRAME_ENCODING_OVERHEAD_BYTES
    expect([channel.costWei, channel.calldataCostWei]).toEqual([
      1_000n,
      calldataCost(bytes, 120_000, { baseFee: 3n, tip: 0n }),
    ])
  })
})

describe('native memory', () => {
  const [block] = sizedBlocks(1, 10)
  if (block === undefined) throw new Error('no block')

  it('is freed at once if no step runs', async () => {
    const out = new BytesOut()
    channelOf(out).destroy()
    expect(out.destroyed).toBe(1)
  })

  it('is freed after the step that runs, and not before the channel is dropped', async () => {
    const out = new BytesOut()
    const channel = channelOf(out)
    await channel.addBlock(block)
    const { promise, resolve } = Promise.withResolvers<void>()
    out.step = promise
    const adding = channel.addBlock(block)
    channel.destroy()
    expect(out.destroyed).toBe(0)
    resolve()
    await adding
    expect(out.destroyed).toBe(1)
  })
})
