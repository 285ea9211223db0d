import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { type Hex, toHex } from '../lib/hex.ts'
import { silentLogger } from '../lib/logger.ts'
import { decodeBlob, decodeFrames } from '../rollup/protocol/index.ts'
import { createChannelConfig } from './channelConfig.ts'
import { ChannelManager } from './channelManager.ts'
import { type ChannelOut, createChannelOut } from './channelOut.ts'
import { COMPRESSION_ALGORITHMS } from './compress/algorithm.ts'
import { fixedChoice } from './daChoice.ts'
import type { BatcherBlock } from './l2Block.ts'
import { noBatcherMetrics } from './metrics.ts'
import type { BatcherOptions } from './options.ts'
import { blocksOfChannel, channelsOf } from './testUtils/l1Batches.ts'
import { createLogRecorder } from './testUtils/logRecorder.ts'
import { batcherBlocks, loadRecordedChain } from './testUtils/recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from './testUtils/submitterSetup.ts'
import { takeTxData } from './testUtils/takeTxData.ts'
import { payloadOf, type TxData } from './txData.ts'

// Hundreds of channels are compressed, which a busy machine takes long for.
vi.setConfig({ testTimeout: 300_000 })

const chain = loadRecordedChain('holocene-span-brotli-calldata')
const recorded = await batcherBlocks(chain)
const rollupConfig = chain.config
const NOW = rollupConfig.genesis.l2Time + 100

function createManager(options: Partial<BatcherOptions> = {}, logger = silentLogger): ChannelManager {
  const config = createChannelConfig({ ...TEST_BATCHER_OPTIONS, maxChannelDuration: 0, ...options }, rollupConfig, NOW)
  return new ChannelManager({ logger, metrics: noBatcherMetrics }, { da: fixedChoice(config), rollupConfig })
}

function addAll(manager: ChannelManager, blocks: readonly BatcherBlock[]): void {
  for (const block of blocks) expect(manager.addBlock(block)).toBe(true)
}

/** Takes all that the manager gives, confirming each at once. */
async function takeAll(manager: ChannelManager, force = true): Promise<TxData[]> {
  const taken: TxData[] = []
  for (;;) {
    const data = await takeTxData(manager, 0, { force })
    if (data === undefined) return taken
    taken.push(data)
    manager.txConfirmed(data.id, 1)
  }
}

async function derive(taken: readonly TxData[]) {
  const frames = taken.flatMap((txData) => {
    const { data } = payloadOf(txData)
    return decodeFrames(data).map((frame) => ({ ...frame, l1Block: 1, txSizeBytes: data.length, txHash: '' }))
  })
  return (await Promise.all(channelsOf(frames).map(({ data }) => blocksOfChannel(data, rollupConfig)))).flat()
}

/** Blocks with one incompressible transaction of `bytes` each. */
function sizedBlocks(count: number, bytes: number): BatcherBlock[] {
  let parentHash: Hex = `0x${'00'.repeat(32)}`
  return Array.from({ length: count }, (_, index) => {
    const hash = toHex(randomBytes(32))
    const block: BatcherBlock = {
      hash,
      parentHash,
      number: index + 1,
      timestamp: rollupConfig.genesis.l2Time + 2 * (index + 1),
      l1Origin: { hash: `0x${'11'.repeat(32)}`, number: 1 },
      sequenceNumber: index,
      transactions: [new Uint8Array(randomBytes(bytes))],
      rawSizeBytes: bytes + 72,
      estimatedDaBytes: bytes + 70,
    }
    parentHash = hash
    return block
  })
}

const essence = ({ timestamp, transactions }: { timestamp: number; transactions: Uint8Array[] }) => ({
  timestamp,
  transactions: transactions.map(toHex),
})

describe('what goes in comes out', () => {
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

  it('whatever the settings, the derivation codecs read the same blocks, and no frame is too large', async () => {
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
          // Some transactions fail: the data must come again, in order.
          const sent: TxData[] = []
          for (let turn = 0; ; turn++) {
            const data = await takeTxData(manager, 0, { force: true })
            if (data === undefined) break
            expect(payloadOf(data).data.length).toBeLessThanOrEqual(options.maxL1TxSizeBytes)
            if (failures.includes(turn)) {
              manager.txFailed(data.id)
              continue
            }
            sent.push(data)
            manager.txConfirmed(data.id, 1)
          }
          expect((await derive(sent)).map(essence)).toEqual(blocks.map(essence))
          expect(manager.channels.every((channel) => channel.isFullySubmitted)).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('keeps the order when several are in flight and some of them fail', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 5 }),
        async (outcomes, width) => {
          const manager = createManager({ batchType: 'span', maxL1TxSizeBytes: 600, targetNumFrames: 8 })
          addAll(manager, recorded)
          const confirmed: TxData[] = []
          for (let turn = 0; ; ) {
            const group: TxData[] = []
            while (group.length < width) {
              const data = await takeTxData(manager, 0, { force: true })
              if (data === undefined) break
              group.push(data)
            }
            if (group.length === 0) break
            // As the publisher does it: the first failure takes the later ones of the group with it.
            let failed = false
            for (const data of group) {
              failed ||= outcomes[turn++] === false
              if (failed) manager.txFailed(data.id)
              else {
                confirmed.push(data)
                manager.txConfirmed(data.id, 1)
              }
            }
          }
          expect((await derive(confirmed)).map(essence)).toEqual(recorded.map(essence))
        },
      ),
      { numRuns: 25 },
    )
  })
})

describe('channel size', () => {
  it.each(['zlib', 'brotli-9'] as const)(
    'the shadow compressor keeps channels at or below their target: %s',
    async (algorithm) => {
      const manager = createManager({ compressionAlgorithm: algorithm, maxL1TxSizeBytes: 20_000, targetNumFrames: 2 })
      const target = 2 * (20_000 - 1 - 23)
      addAll(manager, sizedBlocks(100, 3_000))
      await takeAll(manager)
      expect(manager.channels.length).toBeGreaterThan(7)
      const closed = manager.channels.slice(0, -1)
      for (const channel of closed) {
        expect(channel.outputBytes).toBeLessThanOrEqual(target)
        // A channel stops only when one more block would not have fitted.
        expect(channel.outputBytes).toBeGreaterThan(target - 3_200)
        expect(channel.frameCount).toBeLessThanOrEqual(2)
        expect(channel.fullReason).toBe('compressor')
      }
    },
  )

  it('sends a block that is larger than a channel on its own', async () => {
    for (const compressor of ['shadow', 'ratio', 'none'] as const) {
      const manager = createManager({ compressor, maxL1TxSizeBytes: 1_000 })
      addAll(manager, sizedBlocks(2, 5_000))
      const taken = await takeAll(manager)
      expect(manager.channels.map(({ blocks }) => blocks.length)).toEqual([1, 1])
      expect(taken.length).toBeGreaterThan(10)
    }
  })

  it('fills span channels up to their target', async () => {
    const manager = createManager({ batchType: 'span', compressionAlgorithm: 'brotli-9', maxL1TxSizeBytes: 1_500 })
    addAll(manager, recorded)
    await takeAll(manager)
    const target = 1_500 - 1 - 23
    expect(manager.channels.length).toBeGreaterThan(3)
    for (const channel of manager.channels)
      expect(channel.outputBytes <= target || channel.blocks.length === 1).toBe(true)
  })

  it('gives frames away before the channel is closed once there is enough for one', async () => {
    const manager = createManager({ compressor: 'none', maxL1TxSizeBytes: 1_000, targetNumFrames: 6 })
    addAll(manager, sizedBlocks(1, 2_500))
    const first = await takeTxData(manager, 0, { force: false })
    const second = await takeTxData(manager, 0, { force: false })
    expect([first?.frames[0]?.number, second?.frames[0]?.number]).toEqual([0, 1])
    expect(await takeTxData(manager, 0, { force: false })).toBeUndefined()
    expect(manager.channels[0]?.isFull).toBe(false)
    expect(first && payloadOf(first).data.length).toBe(1_000)
  })
})

describe('blobs', () => {
  const blobOptions = { dataAvailability: 'blobs', targetNumFrames: 4 } as const

  it('of one channel leave in one transaction, up to six', async () => {
    const manager = createManager(blobOptions)
    addAll(manager, sizedBlocks(20, 30_000))
    const taken = await takeAll(manager)
    const [first] = taken
    expect(manager.channels[0]?.frameCount).toBe(4)
    expect(first?.frames.map(({ number, isLast }) => [number, isLast])).toEqual([
      [0, false],
      [1, false],
      [2, false],
      [3, true],
    ])
    expect(first?.id).toBe(`${first?.channelId.slice(2)}:0+1+2+3`)
    const { blobs = [] } = first === undefined ? {} : payloadOf(first)
    expect(blobs.map((blob) => decodeFrames(decodeBlob(blob)))).toEqual(first?.frames.map((frame) => [frame]))
    expect(blobs.map((blob) => decodeBlob(blob).length).slice(0, 3)).toEqual([130_044, 130_044, 130_044])
  })

  it('of a channel larger than a transaction leave in order, and come again after a failure', async () => {
    const manager = createManager(blobOptions)
    addAll(manager, sizedBlocks(1, 900_000))
    const numbers = async () => (await takeTxData(manager, 0, { force: true }))?.frames.map(({ number }) => number)
    expect(await numbers()).toEqual([0, 1, 2, 3, 4, 5])
    const channel = manager.channels[0]
    manager.txFailed(`${channel?.id.slice(2)}:0+1+2+3+4+5`)
    expect(await numbers()).toEqual([0, 1, 2, 3, 4, 5])
    expect(await numbers()).toEqual([6])
    expect(await numbers()).toBeUndefined()
  })

  it('of an open channel wait until they fill a transaction', async () => {
    const manager = createManager({ ...blobOptions, compressor: 'none' })
    addAll(manager, sizedBlocks(12, 30_000))
    expect(await takeTxData(manager, 0, { force: false })).toBeUndefined()
    expect(manager.channels[0]?.frameCount).toBe(2)
  })
})

describe('deadlines', () => {
  const full = (manager: ChannelManager) => manager.channels[0]?.fullReason

  it('the maximal duration counts from the origin of the last channel that was sent', async () => {
    const manager = createManager({ maxChannelDuration: 3 })
    manager.clear(10)
    addAll(manager, recorded.slice(0, 2))
    expect(await takeTxData(manager, 12, { force: false })).toBeUndefined()
    expect(full(manager)).toBeUndefined()
    // No further block is needed for the deadline to be noticed.
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

  it('a channel whose frames are too far apart on L1 is made anew, and all later ones', async () => {
    const log = createLogRecorder()
    const manager = createManager({ batchType: 'span', maxL1TxSizeBytes: 700, targetNumFrames: 6 }, log.logger)
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
    // Late news of the dropped channels changes nothing.
    manager.txConfirmed(taken[2]?.id ?? '', 151)
    expect((await derive(await takeAll(manager))).map(essence)).toEqual(recorded.map(essence))
  })
})

describe('a compressor that fails', () => {
  it.each(['singular', 'span'] as const)('costs no block and doubles none: %s', async (batchType) => {
    const config = createChannelConfig({ ...TEST_BATCHER_OPTIONS, batchType }, rollupConfig, NOW)
    let faults = 2
    const failing = (out: ChannelOut): ChannelOut =>
      Object.assign(Object.create(out), {
        async addBlock(block: BatcherBlock) {
          const outcome = await out.addBlock(block)
          if (block.number === 5 && faults-- > 0) throw new Error('out of memory')
          return outcome
        },
      })
    const manager = new ChannelManager(
      { logger: silentLogger, metrics: noBatcherMetrics, createOut: (...args) => failing(createChannelOut(...args)) },
      { da: fixedChoice(config), rollupConfig },
    )
    addAll(manager, recorded.slice(0, 8))
    for (let fault = 0; fault < 2; fault++) {
      await expect(manager.fill(0, { deadlines: false })).rejects.toThrow('out of memory')
    }
    expect((await derive(await takeAll(manager))).map(essence)).toEqual(recorded.slice(0, 8).map(essence))
  })
})

describe('holding blocks', () => {
  it('refuses a block that does not extend the newest', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 2))
    const [stranger] = recorded.slice(3)
    expect(stranger && manager.addBlock(stranger)).toBe(false)
    expect(manager.newestBlock?.hash).toBe(recorded[1]?.hash)
  })

  it('forgets safe blocks and channels', async () => {
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

  it('tells what a channel cost that was derived before it had its confirmations', async () => {
    const log = createLogRecorder()
    const manager = createManager({}, log.logger)
    addAll(manager, recorded.slice(0, 3))
    const data = await takeTxData(manager, 0, { force: true })
    manager.prune(3)
    expect(manager.channels).toEqual([])
    manager.txConfirmed(data?.id ?? '', 1, { feeWei: 7_000_000_000n, gasPriceWei: 1n })
    expect(log.of('Channel is fully submitted')).toEqual([
      expect.objectContaining({ latest_l2: 3, cost_gwei: 7, compr_ratio: expect.any(Number) }),
    ])
  })

  it('loses no block that joins an open channel while the blocks before it become safe', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 3))
    await takeTxData(manager, 0, { force: false })
    addAll(manager, recorded.slice(3, 5))
    const filling = takeTxData(manager, 0, { force: false })
    manager.prune(3)
    await filling
    const derived = (await derive(await takeAll(manager))).map(essence)
    expect(derived.slice(-2)).toEqual(recorded.slice(3, 5).map(essence))
  })

  it('a safe head in the middle of waiting blocks is no harm', async () => {
    const manager = createManager()
    addAll(manager, recorded.slice(0, 5))
    manager.prune(3)
    expect(manager.pendingBlockCount).toBe(2)
    expect((await derive(await takeAll(manager))).map(essence)).toEqual(recorded.slice(3, 5).map(essence))
  })
})
