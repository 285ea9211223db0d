import { describe, expect, it, vi } from 'vitest'
import { decodeBlob, decodeFrames } from '../../rollup/protocol/index.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import { addAll, createManager, recorded, sizedBlocks, takeAll } from '../testUtils/managerInTest.ts'
import { takeTxData } from '../testUtils/takeTxData.ts'
import { payloadOf } from './txData.ts'

// Compressing channels takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

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
        // A channel closes only if one more block would not have fitted.
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

  it('returns frames of an open channel once there is enough data for a frame', async () => {
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

it('warns of a channel with more frames than can be confirmed before it times out, and names the numbers', async () => {
  const log = createLogRecorder()
  // Each transaction waits for a whole channel timeout: only those sent together are in time.
  const manager = createManager({ numConfirmations: 50, maxL1TxSizeBytes: 150 }, { logger: log.logger })
  addAll(manager, sizedBlocks(2, 1_000))
  await takeAll(manager)
  expect(log.of('Channel has more frames than can be confirmed before it times out')).toEqual([])
  addAll(manager, sizedBlocks(1, 3_000, manager.newestBlock))
  await takeAll(manager)
  expect(log.of('Channel has more frames than can be confirmed before it times out')).toMatchObject([
    {
      num_frames: expect.any(Number),
      frames_in_time: 16,
      txs_in_flight: 16,
      num_confirmations: 50,
      channel_timeout: 50,
    },
  ])
})

describe('blobs', () => {
  const blobOptions = { dataAvailability: 'blobs', targetNumFrames: 4 } as const

  it('of one channel share one transaction, up to six', async () => {
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

  it('of a channel larger than a transaction are sent in order, and again after a failure', async () => {
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
