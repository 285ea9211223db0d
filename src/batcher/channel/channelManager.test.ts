import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import {
  addAll,
  createConfig,
  createManager,
  derive,
  essence,
  recorded,
  rollupConfig,
  sizedBlocks,
  takeAll,
} from '../testUtils/managerInTest.ts'
import { TEST_BATCHER_OPTIONS } from '../testUtils/submitterSetup.ts'
import { takeTxData } from '../testUtils/takeTxData.ts'
import { type ChannelManager, createChannelOut } from './channelManager.ts'
import type { ChannelOut } from './channelOut.ts'
import { COMPRESSION_ALGORITHMS } from './compress/algorithm.ts'
import { payloadOf, type TxData } from './txData.ts'

// Compressing hundreds of channels takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

describe('posted data', () => {
  const algorithms = fc.constantFrom(...COMPRESSION_ALGORITHMS)
  const settings = fc.record({
    batchType: fc.constantFrom('singular' as const, 'span' as const),
    compressionAlgorithm: algorithms,
    compressor: fc.constantFrom('shadow' as const, 'ratio' as const, 'none' as const),
    maxL1TxSizeBytes: fc.constantFrom(150, 400, 2_000, 120_000),
    targetNumFrames: fc.integer({ min: 1, max: 5 }),
    maxBlocksPerSpanBatch: fc.constantFrom(0, 0, 1, 3),
    approxComprRatio: fc.constantFrom(0.2, 0.6, 1),
  })

  it('decodes to the same blocks with any options, and no transaction is too large', async () => {
    await fc.assert(
      fc.asyncProperty(
        settings,
        fc.integer({ min: 0, max: 31 }),
        fc.integer({ min: 1, max: 32 }),
        fc.array(fc.nat({ max: 40 }), { maxLength: 8 }),
        async (options, start, count, failures) => {
          const blocks = recorded.slice(start, start + count)
          const manager = createManager(options)
          addAll(manager, blocks)
          // Some transactions fail: their data must be sent again, in order.
          const sent: TxData[] = []
          for (let attempt = 0; ; attempt++) {
            const data = await takeTxData(manager, 0, { force: true })
            if (data === undefined) break
            expect(payloadOf(data).data.length).toBeLessThanOrEqual(options.maxL1TxSizeBytes)
            if (failures.includes(attempt)) {
              manager.txFailed(data.id)
              continue
            }
            sent.push(data)
            manager.txConfirmed(data.id, 1)
          }
          expect(await derive(sent)).toEqual(blocks.map(essence))
          expect(manager.channels.every((channel) => channel.isFullySubmitted)).toBe(true)
        },
      ),
      { numRuns: propertyRuns(60) },
    )
  })

  it('decodes to the same blocks when some of several transactions in flight fail', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 5 }),
        async (outcomes, width) => {
          const manager = createManager({ batchType: 'span', maxL1TxSizeBytes: 600, targetNumFrames: 8 })
          addAll(manager, recorded)
          const confirmed: TxData[] = []
          for (let attempt = 0; ; ) {
            const group: TxData[] = []
            while (group.length < width) {
              const data = await takeTxData(manager, 0, { force: true })
              if (data === undefined) break
              group.push(data)
            }
            if (group.length === 0) break
            // Like the publisher: the first failure cancels the later transactions of the group.
            let failed = false
            for (const data of group) {
              failed ||= outcomes[attempt++] === false
              if (failed) manager.txFailed(data.id)
              else {
                confirmed.push(data)
                manager.txConfirmed(data.id, 1)
              }
            }
          }
          expect(await derive(confirmed)).toEqual(recorded.map(essence))
        },
      ),
      { numRuns: propertyRuns(25) },
    )
  })
})

describe('deadlines', () => {
  const full = (manager: ChannelManager) => manager.channels[0]?.fullReason

  it('the maximal duration counts from the L1 origin of the last closed channel', async () => {
    const manager = createManager({ maxChannelDuration: 3 })
    manager.clear(10)
    addAll(manager, recorded.slice(0, 2))
    expect(await takeTxData(manager, 12, { force: false })).toBeUndefined()
    expect(full(manager)).toBeUndefined()
    // The deadline takes effect without a further block.
    expect(await takeTxData(manager, 13, { force: false })).toBeDefined()
    expect(full(manager)).toBe('duration')
  })

  it('a channel closes before the sequencing window of its oldest block ends', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 1))
    const origin = recorded[0]?.l1Origin.number ?? 0
    const end = origin + rollupConfig.seqWindowSize - TEST_BATCHER_OPTIONS.subSafetyMargin
    expect(await takeTxData(manager, end - 1, { force: false })).toBeUndefined()
    expect(await takeTxData(manager, end, { force: false })).toBeDefined()
    expect(full(manager)).toBe('sequencerWindow')
  })

  it('a channel closes before it times out on L1', async () => {
    const manager = createManager({ compressor: 'none', maxL1TxSizeBytes: 500, targetNumFrames: 40 })
    addAll(manager, recorded.slice(8, 9))
    const first = await takeTxData(manager, 0, { force: false })
    manager.txConfirmed(first?.id ?? '', 1_000)
    while ((await takeTxData(manager, 0, { force: false })) !== undefined);
    const end = 1_000 + 50 - TEST_BATCHER_OPTIONS.subSafetyMargin
    await takeTxData(manager, end - 1, { force: false })
    expect(full(manager)).toBeUndefined()
    await takeTxData(manager, end, { force: false })
    expect(full(manager)).toBe('channelTimeout')
  })

  it('a channel that times out on L1 is rebuilt, and so are all later channels', async () => {
    const log = createLogRecorder()
    const manager = createManager(
      { batchType: 'span', maxL1TxSizeBytes: 700, targetNumFrames: 6 },
      { logger: log.logger },
    )
    addAll(manager, recorded)
    const taken: TxData[] = []
    for (
      let data = await takeTxData(manager, 0, { force: true });
      data;
      data = await takeTxData(manager, 0, { force: true })
    )
      taken.push(data)
    const before = manager.channels.length
    expect(before).toBeGreaterThan(1)
    const [first, second] = taken
    manager.txConfirmed(first?.id ?? '', 100)
    manager.txConfirmed(second?.id ?? '', 150)
    expect(log.of('Channel timed out')).toHaveLength(1)
    expect(manager.channels).toHaveLength(0)
    expect(manager.pendingBlockCount).toBe(recorded.length)
    // Late outcomes of dropped channels change nothing.
    manager.txConfirmed(taken[2]?.id ?? '', 151)
    expect(await derive(await takeAll(manager))).toEqual(recorded.map(essence))
  })
})

it('chooses between blobs and calldata only when the channel is closed', async () => {
  const options = { batchType: 'singular', compressor: 'none', maxL1TxSizeBytes: 1_000, targetNumFrames: 3 } as const
  const calldata = createConfig({ ...options, dataAvailability: 'calldata' })
  const blobs = createConfig({ ...options, dataAvailability: 'blobs' })
  const manager = createManager(
    {},
    {},
    { config: calldata, isFixed: false, configFor: () => blobs, refresh: async () => {} },
  )
  addAll(manager, sizedBlocks(3, 500))
  expect(await takeTxData(manager, 0, { force: false })).toBeUndefined()
  expect(manager.channels.map(({ hasTxData, isClosed }) => ({ hasTxData, isClosed }))).toEqual([
    { hasTxData: true, isClosed: false },
  ])
  expect(await takeTxData(manager, 0, { force: true })).toMatchObject({ asBlobs: true })
})

describe('a compressor that fails', () => {
  it.each(['singular', 'span'] as const)('neither loses nor repeats a block: %s', async (batchType) => {
    let faults = 2
    const failing = (out: ChannelOut): ChannelOut =>
      Object.assign(Object.create(out), {
        async addBlock(block: BatcherBlock) {
          const outcome = await out.addBlock(block)
          if (block.number === 5 && faults-- > 0) throw new Error('out of memory')
          return outcome
        },
      })
    const createOut = (...args: Parameters<typeof createChannelOut>) => failing(createChannelOut(...args))
    const manager = createManager({ batchType }, { createOut })
    addAll(manager, recorded.slice(0, 8))
    for (let fault = 0; fault < 2; fault++) {
      await expect(manager.fill(0, { deadlines: false })).rejects.toThrow('out of memory')
    }
    expect(await derive(await takeAll(manager))).toEqual(recorded.slice(0, 8).map(essence))
  })
})

it('yields to the event loop while a span channel collects blocks', async () => {
  let turns = 0
  const tick = () => {
    turns += 1
    next = setImmediate(tick)
  }
  let next = setImmediate(tick)
  const slow = (out: ChannelOut): ChannelOut =>
    Object.assign(Object.create(out), {
      addBlock(block: BatcherBlock) {
        for (const endMs = performance.now() + 3; performance.now() < endMs; );
        return out.addBlock({ ...block, transactions: [] })
      },
    })
  const createOut = (...args: Parameters<typeof createChannelOut>) => slow(createChannelOut(...args))
  const manager = createManager({ batchType: 'span' }, { createOut })
  const blocks = sizedBlocks(40, 100)
  addAll(manager, blocks)
  await manager.fill(0, { deadlines: false })
  clearImmediate(next)
  expect(manager.channels.map((channel) => channel.blocks.length)).toEqual([blocks.length])
  expect(turns).toBeGreaterThan(blocks.length / 4)
})

describe('holding blocks', () => {
  it('refuses a block that does not extend the newest block', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 2))
    const [unrelated] = recorded.slice(3)
    expect(unrelated && manager.addBlock(unrelated)).toBe(false)
    expect(manager.newestBlock?.hash).toBe(recorded[1]?.hash)
  })

  it('drops safe blocks and channels', async () => {
    const manager = createManager({ batchType: 'span', maxL1TxSizeBytes: 700 })
    addAll(manager, recorded)
    await takeAll(manager)
    const channels = manager.channels.length
    const blocks = manager.channels[0]?.blocks.length ?? 0
    manager.prune(blocks)
    expect(manager.channels).toHaveLength(channels - 1)
    expect(manager.blocks).toHaveLength(recorded.length - blocks)
    expect(manager.pendingBlockCount).toBe(0)
    expect(manager.heldSizeBytes).toBe(manager.blocks.reduce((sum, block) => sum + block.rawSizeBytes, 0))
    const newest = recorded.at(-1)
    manager.prune(newest?.number ?? 0)
    expect(manager.blocks).toEqual([])
    expect(manager.lastLoaded).toEqual({ number: newest?.number, hash: newest?.hash })
    manager.clear(0)
    expect(manager.lastLoaded).toBeUndefined()
  })

  it('logs the cost of a channel that was derived before its confirmations', async () => {
    const log = createLogRecorder()
    const manager = createManager({}, { logger: log.logger })
    addAll(manager, recorded.slice(0, 3))
    const data = await takeTxData(manager, 0, { force: true })
    manager.prune(3)
    expect(manager.channels).toEqual([])
    manager.txConfirmed(data?.id ?? '', 1, { feeWei: 7_000_000_000n, gasPriceWei: 1n })
    expect(log.of('Channel is fully submitted')).toEqual([
      expect.objectContaining({ latest_l2: 3, cost_gwei: 7, compr_ratio: expect.any(Number) }),
    ])
  })

  it('does not lose a block that enters an open channel while earlier blocks become safe', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 3))
    await takeTxData(manager, 0, { force: false })
    addAll(manager, recorded.slice(3, 5))
    const filling = takeTxData(manager, 0, { force: false })
    manager.prune(3)
    await filling
    const derived = await derive(await takeAll(manager))
    expect(derived.slice(-2)).toEqual(recorded.slice(3, 5).map(essence))
  })

  it('keeps waiting blocks above the safe head', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 5))
    manager.prune(3)
    expect(manager.pendingBlockCount).toBe(2)
    expect(await derive(await takeAll(manager))).toEqual(recorded.slice(3, 5).map(essence))
  })
})
