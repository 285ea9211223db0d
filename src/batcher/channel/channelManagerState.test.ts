import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { memoryBytes } from '../l2/l2Block.ts'
import { type ChannelStage, createBatcherMetrics } from '../submitter/metrics.ts'
import { addAll, createManager, recorded, sizedBlocks, takeAll } from '../testUtils/managerInTest.ts'
import { takeTxData } from '../testUtils/takeTxData.ts'
import { type ChannelManager, createChannelOut } from './channelManager.ts'
import type { ChannelOut } from './channelOut.ts'

/** Small channels of one or two blocks. */
const SMALL = { batchType: 'singular', compressor: 'none', maxL1TxSizeBytes: 400, targetNumFrames: 1 } as const

function recordedMetrics() {
  const stages: ChannelStage[] = []
  const closed: number[][] = []
  const txs: string[] = []
  const added: number[] = []
  const metrics = {
    ...createBatcherMetrics(new Registry()),
    blockAdded: ({ number }: { number: number }) => added.push(number),
    channel: (stage: ChannelStage) => stages.push(stage),
    channelClosed: (...figures: number[]) => closed.push(figures),
    txConfirmed: () => txs.push('confirmed'),
    txFailed: () => txs.push('failed'),
  }
  return { metrics, stages, closed, txs, added }
}

/** The figures of blocks and channels. Blocks after the newest block of a channel wait for a channel. */
function figuresOf({ blocks, channels }: ChannelManager) {
  const newest = channels.at(-1)?.latestL2?.number ?? 0
  const waiting = blocks.filter(({ number }) => number > newest)
  const pendingDaBytes = waiting.reduce((sum, { estimatedDaBytes }) => sum + estimatedDaBytes, 0)
  return {
    pendingBlockCount: waiting.length,
    pendingDaBytes,
    unsafeDaBytes: channels.reduce((sum, { daBytes }) => sum + daBytes, pendingDaBytes),
    heldSizeBytes: blocks.reduce((sum, { rawSizeBytes }) => sum + rawSizeBytes, 0),
    memoryBytes: blocks.reduce((sum, block) => sum + memoryBytes(block), 0),
  }
}

describe('figures of the channel manager', () => {
  it('match the held blocks and channels after each step', async () => {
    const { metrics, added } = recordedMetrics()
    const manager = createManager(SMALL, { metrics })
    const agree = () => expect(manager).toMatchObject(figuresOf(manager))
    const blocks = sizedBlocks(12, 100)
    for (const block of blocks.slice(0, 8)) {
      addAll(manager, [block])
      agree()
    }
    expect(added).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    await manager.fill(0, { deadlines: false })
    expect(manager.pendingBlockCount).toBeGreaterThan(0)
    agree()
    addAll(manager, blocks.slice(8))
    agree()
    // Inside a channel, at the end of a channel, and among the waiting blocks.
    for (const safe of [1, manager.channels[0]?.latestL2?.number ?? 0, 9]) {
      manager.prune(safe)
      expect(manager.blocks[0]?.number).toBe(safe + 1)
      agree()
    }
    await manager.fill(0, { deadlines: false })
    agree()
    manager.requeue()
    expect(manager.pendingBlockCount).toBe(3)
    agree()
    await takeAll(manager)
    expect(manager.pendingBlockCount).toBe(0)
    agree()
    manager.prune(12)
    expect(manager).toMatchObject({ pendingBlockCount: 0, heldSizeBytes: 0, pendingDaBytes: 0, unsafeDaBytes: 0 })
    agree()
    addAll(manager, sizedBlocks(1, 100, blocks.at(-1)))
    agree()
    manager.clear(0)
    agree()
    expect(manager.memoryBytes).toBe(0)
  })

  it('count the exact bytes of a channel with frames, and an estimate for an open channel', async () => {
    const manager = createManager({ batchType: 'singular' })
    const blocks = sizedBlocks(3, 100)
    addAll(manager, blocks)
    await manager.fill(0, { deadlines: false })
    expect(manager.unsafeDaBytes).toBe(3 * 170)
    await takeTxData(manager, 0, { force: true })
    const [channel] = manager.channels
    expect(manager.unsafeDaBytes).toBe(channel?.outputBytes)
    expect(channel?.outputBytes).toBeGreaterThan(300)
  })

  it('count the stages of channels and transactions', async () => {
    const { metrics, stages, closed, txs } = recordedMetrics()
    const manager = createManager({ batchType: 'singular' }, { metrics })
    addAll(manager, recorded.slice(0, 2))
    const failed = await takeTxData(manager, 0, { force: true })
    const [channel] = manager.channels
    expect(closed).toEqual([[1, channel?.inputBytes, channel?.outputBytes]])
    expect(stages).toEqual(['opened', 'closed'])
    manager.txFailed(failed?.id ?? '')
    manager.txFailed('unknown')
    const data = await takeTxData(manager, 0, { force: true })
    expect(data?.id).toBe(failed?.id)
    manager.txConfirmed(data?.id ?? '', 1)
    expect(txs).toEqual(['failed', 'failed', 'confirmed'])
    expect(stages).toEqual(['opened', 'closed', 'fully_submitted'])
  })

  it('count a channel that timed out, once', async () => {
    const { metrics, stages } = recordedMetrics()
    const manager = createManager({ compressor: 'none', maxL1TxSizeBytes: 500, targetNumFrames: 3 }, { metrics })
    addAll(manager, sizedBlocks(1, 1_200))
    const ids = []
    for (let n = 0; n < 3; n++) ids.push((await takeTxData(manager, 0, { force: true }))?.id ?? '')
    manager.txConfirmed(ids[0] ?? '', 1)
    expect(stages).not.toContain('fully_submitted')
    manager.txConfirmed(ids[1] ?? '', 1_000)
    manager.txConfirmed(ids[2] ?? '', 2_000)
    expect(stages.filter((stage) => stage === 'timed_out')).toHaveLength(1)
  })
})

describe('firstUnsaved', () => {
  it('is the first block of the first unconfirmed channel, or the first block in no channel', async () => {
    const manager = createManager({ batchType: 'singular' })
    const unsaved = () => manager.firstUnsaved?.number
    expect(unsaved()).toBeUndefined()
    const blocks = sizedBlocks(4, 100)
    const taken: string[] = []
    // Each block in its own channel.
    for (const block of blocks.slice(0, 3)) {
      addAll(manager, [block])
      taken.push((await takeTxData(manager, 0, { force: true }))?.id ?? '')
    }
    expect(manager.channels.map((channel) => channel.blocks[0]?.number)).toEqual([1, 2, 3])
    expect(unsaved()).toBe(1)
    manager.txConfirmed(taken[1] ?? '', 1)
    expect(unsaved()).toBe(1)
    manager.txConfirmed(taken[0] ?? '', 1)
    expect(unsaved()).toBe(3)
    manager.txConfirmed(taken[2] ?? '', 1)
    expect(unsaved()).toBeUndefined()
    addAll(manager, blocks.slice(3))
    expect(unsaved()).toBe(4)
  })
})

describe('addBlock refuses a block', () => {
  const [first, second] = sizedBlocks(2, 10)
  if (first === undefined || second === undefined) throw new Error('no blocks')

  it.each([
    ['whose number does not follow the newest block', { ...second, number: 3 }],
    ['whose parent is not the newest block', { ...second, parentHash: second.hash }],
  ])('%s', (_, block) => {
    const manager = createManager()
    addAll(manager, [first])
    expect(manager.addBlock(block)).toBe(false)
    expect(manager.lastLoaded).toEqual({ number: first.number, hash: first.hash })
    expect(manager.addBlock(second)).toBe(true)
  })
})

describe('a flush', () => {
  it('covers the held blocks only: later blocks wait for a full channel', async () => {
    const manager = createManager({ batchType: 'singular' })
    const blocks = sizedBlocks(4, 100)
    addAll(manager, blocks.slice(0, 2))
    expect(await takeTxData(manager, 0, { force: true })).toBeDefined()
    expect(manager.channels[0]?.fullReason).toBe('terminated')
    addAll(manager, blocks.slice(2))
    expect(await takeTxData(manager, 0, { force: false })).toBeUndefined()
    expect(await takeTxData(manager, 0, { force: true })).toBeDefined()
  })

  it('is forgotten after a reorg', async () => {
    const manager = createManager({ batchType: 'singular' })
    addAll(manager, sizedBlocks(5, 100))
    manager.flush()
    manager.clear(0)
    addAll(manager, sizedBlocks(2, 100))
    expect(await takeTxData(manager, 0, { force: false })).toBeUndefined()
    expect(manager.channels.map((channel) => channel.fullReason)).toEqual([undefined])
  })

  it('without held blocks has no effect', async () => {
    const manager = createManager({ batchType: 'singular' })
    manager.flush()
    addAll(manager, sizedBlocks(1, 100))
    expect(await takeTxData(manager, 0, { force: false })).toBeUndefined()
  })
})

describe('filling', () => {
  it('builds three channels ahead, and another when one is sent', async () => {
    const manager = createManager(SMALL)
    addAll(manager, sizedBlocks(8, 300))
    const closed = () => manager.channels.filter((channel) => channel.isClosed).length
    await manager.fill(0, { deadlines: false })
    expect(closed()).toBe(3)
    manager.nextTxData()
    await manager.fill(0, { deadlines: false })
    expect(closed()).toBe(4)
  })

  it('closes a channel at its deadline only with `deadlines`', async () => {
    const manager = createManager({ maxChannelDuration: 1 })
    addAll(manager, sizedBlocks(1, 100))
    await manager.fill(1_000, { deadlines: false })
    expect(manager.channels.map((channel) => channel.isClosed)).toEqual([false])
    await manager.fill(1_000, { deadlines: true })
    expect(manager.channels.map((channel) => channel.fullReason)).toEqual(['duration'])
  })

  it('ends with its signal, and the next call continues from there', async () => {
    const manager = createManager()
    addAll(manager, sizedBlocks(3, 100))
    await manager.fill(0, { deadlines: false, signal: AbortSignal.abort() })
    expect(manager.pendingBlockCount).toBe(3)
    const ending = new AbortController()
    const filling = manager.fill(0, { deadlines: false, signal: ending.signal })
    ending.abort()
    await filling
    expect(manager.pendingBlockCount).toBeGreaterThan(0)
    await manager.fill(0, { deadlines: false })
    expect(manager.pendingBlockCount).toBe(0)
  })

  it('calls onReady when a channel closes', async () => {
    const manager = createManager(SMALL)
    addAll(manager, sizedBlocks(2, 300))
    let ready = 0
    await manager.fill(0, { deadlines: false, onReady: () => ready++ })
    expect(ready).toBe(manager.channels.filter((channel) => channel.isClosed).length)
    expect(ready).toBeGreaterThan(0)
  })
})

describe('dropped channels', () => {
  it.each<[string, (manager: ChannelManager) => void]>([
    ['after a reorg', (manager) => manager.clear(0)],
    ['to be built again', (manager) => manager.requeue()],
    ['because they are safe', (manager) => manager.prune(3)],
  ])('free native memory: %s', async (_, drop) => {
    let destroyed = 0
    const counted = (out: ChannelOut): ChannelOut =>
      Object.assign(Object.create(out), {
        destroy() {
          destroyed++
          out.destroy()
        },
      })
    const createOut = (...args: Parameters<typeof createChannelOut>) => counted(createChannelOut(...args))
    const manager = createManager({ batchType: 'singular' }, { createOut })
    addAll(manager, sizedBlocks(3, 100))
    await manager.fill(0, { deadlines: false })
    drop(manager)
    expect(manager.channels).toEqual([])
    expect(destroyed).toBe(1)
  })

  it('ignore the outcome of their transactions', async () => {
    const { metrics, stages } = recordedMetrics()
    const manager = createManager({ batchType: 'singular' }, { metrics })
    addAll(manager, sizedBlocks(1, 100))
    const data = await takeTxData(manager, 0, { force: true })
    manager.requeue()
    manager.txConfirmed(data?.id ?? '', 1)
    expect(stages).toEqual(['opened', 'closed'])
    expect(manager.pendingBlockCount).toBe(1)
  })
})

describe('options at their limits', () => {
  it.each([
    ['a transaction without room for data', { maxL1TxSizeBytes: 24 }, '--max-l1-tx-size-bytes'],
    ['a margin above the channel timeout', { subSafetyMargin: 51 }, '--sub-safety-margin'],
  ] as const)('are refused: %s', (_, options, flag) => {
    expect(() => createManager(options)).toThrow(errorWith('usage', flag))
  })

  it('are accepted at the limit', () => {
    expect(() => createManager({ maxL1TxSizeBytes: 25, targetNumFrames: 1 })).not.toThrow()
  })
})
