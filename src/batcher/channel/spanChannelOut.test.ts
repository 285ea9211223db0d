import fc from 'fast-check'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { encodeSpanBatch } from '../../rollup/protocol/index.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import { createBatcherMetrics } from '../submitter/metrics.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import { blocksOfChannel } from '../testUtils/l1Batches.ts'
import { block, blocksOf, configOf, rollupConfig } from '../testUtils/spanBlocks.ts'
import { takeTxData } from '../testUtils/takeTxData.ts'
import { ChannelManager } from './channelManager.ts'
import { compressAll, quickLength } from './compress/algorithm.ts'
import { createCompressor } from './compress/compressor.ts'
import { fixedChoice } from './daChoice.ts'
import { type ExpectedCompression, SpanChannelOut } from './spanChannelOut.ts'

// Compressing megabytes takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

async function fill(blocks: readonly BatcherBlock[], options: Partial<BatcherOptions>, expected?: ExpectedCompression) {
  const config = configOf({ ...options, maxChannelDuration: 0 })
  let compressedInput = 0
  let triedBytes = 0
  const out = new SpanChannelOut(config, rollupConfig, expected, {
    createCompressor() {
      const compressor = createCompressor(config.algorithm)
      const write = compressor.write.bind(compressor)
      compressor.write = (data) => {
        compressedInput += data.length
        return write(data)
      }
      return compressor
    },
    quickLength(data) {
      triedBytes += data.length
      return quickLength(data)
    },
  })
  let count = 0
  let given = 0
  for (let next = blocks[0]; next !== undefined; next = blocks[count]) {
    const { added, full, returned = 0 } = await out.addBlock(next)
    count += (added ? 1 : 0) - returned
    given += returned
    if (full !== undefined) break
  }
  count -= await out.close()
  const { inputBytes } = out
  const data = out.read(Number.POSITIVE_INFINITY)
  return { count, given, compressedInput, triedBytes, inputBytes, data, target: config.targetOutputBytes }
}

function spanOf(blocks: readonly BatcherBlock[]): Uint8Array {
  const parts = blocks.map((one) => ({ ...one, epochNumber: one.l1Origin.number, epochHash: one.l1Origin.hash }))
  return encodeRlp(encodeSpanBatch(parts, rollupConfig))
}

describe('span channels', () => {
  it.each([
    { id: 'empty blocks', count: 5_000, shape: undefined, over: 1.01, rounds: 1.2 },
    { id: 'blocks of noise', count: 200, shape: { noise: 1_000, zeros: 0 }, over: 1.01, rounds: 1.2 },
    { id: 'blocks that compress somewhat', count: 1_500, shape: { noise: 70, zeros: 300 }, over: 1.01, rounds: 1.2 },
    // Deflate splits long runs of zeros into blocks in ways that are hard to predict.
    { id: 'blocks that compress well', count: 1_500, shape: { noise: 20, zeros: 5_000 }, over: 1.05, rounds: 2.2 },
  ])(
    'are full, seldom compressed twice, and about as short as when compressed at once: $id',
    async ({ count, shape, over, rounds }) => {
      const blocks =
        shape === undefined
          ? Array.from({ length: 6 * count }, (_, index) => block(index + 1, []))
          : blocksOf(Array.from({ length: 2 * count }, () => shape))
      for (const compressionAlgorithm of ['zlib', 'brotli-9'] as const) {
        const expected = { ratio: 1, quickRatio: undefined }
        await fill(blocks, { compressionAlgorithm }, expected)
        const { compressedInput, triedBytes, inputBytes, data, target, ...filled } = await fill(
          blocks,
          { compressionAlgorithm },
          expected,
        )
        expect(compressedInput).toBeLessThanOrEqual(rounds * inputBytes)
        expect(triedBytes).toBeLessThanOrEqual(3 * rounds * inputBytes)
        expect(data.length).toBeLessThanOrEqual(target)
        if (filled.count < blocks.length) expect(data.length).toBeGreaterThan(0.95 * target)
        expect(await blocksOfChannel(data, rollupConfig)).toHaveLength(filled.count)
        const atOnce = await compressAll(
          spanOf(blocks.slice(0, filled.count)),
          configOf({ compressionAlgorithm }).algorithm,
        )
        expect(data.length).toBeLessThanOrEqual(over * atOnce.length + 400)
      }
    },
  )

  it('of a new process are not compressed again for the last per cents', async () => {
    const blocks = blocksOf(Array.from({ length: 400 }, () => ({ noise: 1_000, zeros: 0 })))
    const { compressedInput, inputBytes, data, target } = await fill(blocks, { compressionAlgorithm: 'zlib' })
    expect(compressedInput).toBeLessThan(1.5 * inputBytes)
    expect(data.length).toBeGreaterThan(0.95 * target)
  })

  it.each(['zlib', 'brotli-9'] as const)('take every block that fits: %s', async (compressionAlgorithm) => {
    // One to 3,800 bytes, so that the last block matters.
    const blocks = blocksOf(Array.from({ length: 200 }, (_, index) => ({ noise: ((index * 7) % 13) * 320, zeros: 90 })))
    const { algorithm, targetOutputBytes } = configOf({ compressionAlgorithm })
    const expected = { ratio: 1, quickRatio: undefined }
    let first = (await fill(blocks, { compressionAlgorithm }, expected)).count
    for (const channel of [2, 3]) {
      const { count, data } = await fill(blocks.slice(first), { compressionAlgorithm }, expected)
      const oneMore = await compressAll(spanOf(blocks.slice(first, first + count + 1)), algorithm)
      expect(data.length, `channel ${channel}`).toBeLessThanOrEqual(targetOutputBytes)
      expect(oneMore.length, `channel ${channel}`).toBeGreaterThan(0.995 * targetOutputBytes)
      first += count
    }
  })

  it('return blocks that were accepted by a wrong estimate', async () => {
    const shapes = Array.from({ length: 1_500 }, (_, index) =>
      index < 1_000 ? { noise: 0, zeros: 300 } : { noise: 3_000, zeros: 0 },
    )
    const { count, given, data, target } = await fill(blocksOf(shapes), {})
    expect(given).toBeGreaterThan(0)
    expect(data.length).toBeLessThanOrEqual(target)
    expect(data.length).toBeGreaterThan(0.94 * target)
    expect(await blocksOfChannel(data, rollupConfig)).toHaveLength(count)
  })

  it('return such blocks also when they are closed', async () => {
    const shapes = Array.from({ length: 60 }, () => ({ noise: 3_000, zeros: 0 }))
    const { count, given, data, target } = await fill(blocksOf(shapes), {}, { ratio: 0.01, quickRatio: undefined })
    expect(given).toBe(0)
    expect(count).toBeLessThan(60)
    expect(data.length).toBeLessThanOrEqual(target)
    expect(data.length).toBeGreaterThan(0.9 * target)
    expect(await blocksOfChannel(data, rollupConfig)).toHaveLength(count)
  })

  it('neither exceed their target nor lose a block, with any input', async () => {
    const shape = fc.constantFrom(
      { noise: 0, zeros: 0 },
      { noise: 0, zeros: 4_000 },
      { noise: 40, zeros: 50 },
      { noise: 700, zeros: 0 },
      { noise: 700, zeros: 900 },
    )
    const stretch = fc.record({ shape, length: fc.integer({ min: 1, max: 6 }) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(stretch, { minLength: 1, maxLength: 25 }),
        fc.constantFrom(400, 1_000, 3_000, 20_000),
        fc.constantFrom('zlib' as const, 'brotli-9' as const),
        fc.constantFrom(0, 0, 1, 7),
        fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 10 }),
        async (stretches, maxL1TxSizeBytes, compressionAlgorithm, maxBlocksPerSpanBatch, arrivals) => {
          const blocks = blocksOf(stretches.flatMap(({ shape, length }) => Array.from({ length }, () => shape)))
          const config = configOf({
            maxL1TxSizeBytes,
            compressionAlgorithm,
            maxBlocksPerSpanBatch,
            targetNumFrames: 2,
            maxChannelDuration: 2,
          })
          const manager = new ChannelManager(
            { logger: silentLogger, metrics: createBatcherMetrics(new Registry()) },
            { da: fixedChoice(config), rollupConfig },
          )
          // From L1 block 3 on, a channel closes by its duration, however many blocks it has.
          let l1Head = 1
          for (let next = 0; next < blocks.length; l1Head++) {
            for (const end = next + (arrivals[l1Head % arrivals.length] ?? 0) + 1; next < end; next++) {
              const arrived = blocks[next]
              if (arrived !== undefined) manager.addBlock(arrived)
            }
            await takeAll(manager, l1Head, false)
            expect(manager.unsafeDaBytes).toBe(unsafeDaBytes(manager))
          }
          await takeAll(manager, l1Head, true)
          expect(manager.channels.flatMap((channel) => channel.blocks.map(({ number }) => number))).toEqual(
            blocks.map(({ number }) => number),
          )
          for (const channel of manager.channels)
            expect(channel.outputBytes <= config.targetOutputBytes || channel.blocks.length === 1).toBe(true)
        },
      ),
      { numRuns: propertyRuns(60) },
    )
  })
})

describe('a safe head inside an open span channel', () => {
  it('continues filling when the channel returns more blocks than are still held', async () => {
    // Well compressible data lets the channel take many blocks before the next estimate.
    const blocks = blocksOf(
      Array.from({ length: 90 }, (_, index) =>
        index < 15 ? { noise: 10, zeros: 3_000 } : { noise: 3_000, zeros: 10 },
      ),
    )
    const config = configOf({ maxL1TxSizeBytes: 20_000, maxChannelDuration: 0 })
    const manager = new ChannelManager(
      { logger: silentLogger, metrics: createBatcherMetrics(new Registry()) },
      { da: fixedChoice(config), rollupConfig },
    )
    for (const next of blocks.slice(0, 50)) manager.addBlock(next)
    await manager.fill(0, { deadlines: false })
    expect(manager.channels.map((channel) => [channel.blocks.length, channel.isFull])).toEqual([[50, false]])
    manager.prune(40)
    for (const next of blocks.slice(50)) manager.addBlock(next)
    await takeAll(manager, 1, true)
    expect(manager.pendingBlockCount).toBe(0)
    const covered = new Set(manager.channels.flatMap((channel) => channel.blocks.map(({ number }) => number)))
    expect(blocks.filter(({ number }) => number > 40 && !covered.has(number))).toEqual([])
  })
})

function unsafeDaBytes(manager: ChannelManager): number {
  const waiting = manager.blocks.slice(manager.blocks.length - manager.pendingBlockCount)
  const estimate = (blocks: readonly BatcherBlock[]) => blocks.reduce((sum, one) => sum + one.estimatedDaBytes, 0)
  return manager.channels.reduce(
    (sum, { frameCount, outputBytes, blocks }) => sum + (frameCount > 0 ? outputBytes : estimate(blocks)),
    estimate(waiting),
  )
}

async function takeAll(manager: ChannelManager, l1Head: number, force: boolean): Promise<void> {
  for (;;) {
    const data = await takeTxData(manager, l1Head, { force })
    if (data === undefined) return
    manager.txConfirmed(data.id, l1Head)
  }
}
