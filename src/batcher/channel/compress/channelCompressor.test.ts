import { brotliDecompressSync, inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { nextTurn } from '../../../lib/nextTurn.ts'
import { noise } from '../../testUtils/spanBlocks.ts'
import { COMPRESSION_ALGORITHMS, compressionAlgorithm } from './algorithm.ts'
import { type ChannelCompressorOptions, createChannelCompressor } from './channelCompressor.ts'
import { StreamCompressor } from './streamCompressor.ts'

const create = (options: Partial<ChannelCompressorOptions>) =>
  createChannelCompressor({
    kind: 'shadow',
    algorithm: { kind: 'zlib' },
    targetOutputBytes: 1_000,
    approxComprRatio: 0.5,
    ...options,
  })

const decompress = (data: Uint8Array) => (data[0] === 1 ? brotliDecompressSync(data.subarray(1)) : inflateSync(data))

async function finish(compressor: ReturnType<typeof create>): Promise<Uint8Array> {
  await compressor.close()
  return compressor.read(Number.POSITIVE_INFINITY)
}

describe('the shadow compressor', () => {
  it.each(COMPRESSION_ALGORITHMS)(
    'is full with the write that would pass its target, and keeps none of it: %s',
    async (name) => {
      const compressor = create({ algorithm: compressionAlgorithm(name) })
      const parts = [0, 1, 2].map((number) => noise(`${number}`, 300))
      for (const part of parts) expect([await compressor.write(part), compressor.isFull]).toEqual([true, false])
      expect([await compressor.write(noise('3', 100)), compressor.isFull]).toEqual([false, true])
      // Not even a write that would fit.
      expect(await compressor.write(noise('4', 1))).toBe(false)
      const output = await finish(compressor)
      expect(output.length).toBeLessThanOrEqual(1_000)
      expect(decompress(output).equals(concatBytes(...parts))).toBe(true)
    },
  )

  it('measures its output instead of its input once the input could pass the target', async () => {
    const compressor = create({})
    const zeros = new Uint8Array(600)
    for (let count = 0; count < 100; count++) expect(await compressor.write(zeros)).toBe(true)
    expect(compressor.isFull).toBe(false)
    expect(decompress(await finish(compressor))).toHaveLength(60_000)
  })

  it('takes a first write that alone is too large, and is full', async () => {
    const compressor = create({})
    expect([await compressor.write(noise('0', 2_000)), compressor.isFull]).toEqual([true, true])
    expect(await compressor.write(noise('1', 1))).toBe(false)
    expect(decompress(await finish(compressor)).equals(noise('0', 2_000))).toBe(true)
  })

  it('is full above the length of a flushed stream and the 9 bytes of its end', async () => {
    const stream = new StreamCompressor({ kind: 'zlib' })
    const data = noise('0', 970)
    await stream.write(data)
    await stream.flush()
    const isFullAt = async (targetOutputBytes: number) => {
      const compressor = create({ targetOutputBytes })
      await compressor.write(data)
      return compressor.isFull
    }
    expect(await isFullAt(stream.length + 9)).toBe(false)
    expect(await isFullAt(stream.length + 8)).toBe(true)
  })

  it('fills its target but for the bytes that a stream adds', async () => {
    // A flushed zlib stream: 2 bytes before the data, 5 for a block of it, and 5 for the flush. Its end adds up to 9.
    for (const [length, fits] of [
      [970, true],
      [985, false],
    ] as const) {
      const compressor = create({})
      await compressor.write(new Uint8Array(0))
      expect(await compressor.write(noise('0', length))).toBe(fits)
    }
  })
})

describe('the ratio compressor', () => {
  it('is full once its input times the ratio reaches the target, whatever the output is', async () => {
    const compressor = create({ kind: 'ratio', approxComprRatio: 0.6 })
    // 1,000 / 0.6 is 1,666.7.
    expect([await compressor.write(noise('0', 1_665)), compressor.isFull]).toEqual([true, false])
    expect([await compressor.write(noise('1', 1)), compressor.isFull]).toEqual([true, true])
    expect(await compressor.write(noise('2', 1))).toBe(false)
    expect(decompress(await finish(compressor)).equals(concatBytes(noise('0', 1_665), noise('1', 1)))).toBe(true)
  })
})

describe('no compression', () => {
  it('stores each write at once, and is full above its target', async () => {
    const compressor = create({ kind: 'none', algorithm: compressionAlgorithm('brotli') })
    expect(await compressor.write(new Uint8Array(900))).toBe(true)
    expect(compressor.readyBytes).toBeGreaterThanOrEqual(900)
    expect(compressor.isFull).toBe(false)
    expect([await compressor.write(new Uint8Array(100)), compressor.isFull]).toEqual([true, true])
    expect(await compressor.write(new Uint8Array(1))).toBe(false)
    const first = compressor.read(500)
    expect(first).toHaveLength(500)
    expect(decompress(concatBytes(first, await finish(compressor)))).toHaveLength(1_000)
  })

  it('is not full at its target', async () => {
    const isFullAt = async (targetOutputBytes: number) => {
      const compressor = create({ kind: 'none', targetOutputBytes })
      await compressor.write(new Uint8Array(900))
      return { isFull: compressor.isFull, length: compressor.readyBytes }
    }
    const { length } = await isFullAt(1_000)
    expect(await isFullAt(length)).toMatchObject({ isFull: false })
    expect(await isFullAt(length - 1)).toMatchObject({ isFull: true })
  })
})

it.each(['ratio', 'none'] as const)('takes many writes without a warning of leaked listeners: %s', async (kind) => {
  const warnings: string[] = []
  const note = ({ name }: Error) => warnings.push(name)
  process.on('warning', note)
  try {
    const compressor = create({ kind })
    for (let count = 0; count < 20; count++) await compressor.write(noise(`${count}`, 1))
    await nextTurn()
    expect(warnings).not.toContain('MaxListenersExceededWarning')
  } finally {
    process.off('warning', note)
  }
})

it('rejects what is under way, and all that follows, with the error of its stream', async () => {
  const compressor = create({ kind: 'ratio' })
  const closing = compressor.close().catch((reason) => reason)
  const error: unknown = await compressor.write(noise('0', 10)).catch((reason) => reason)
  expect(error).toMatchObject({ code: 'ERR_STREAM_WRITE_AFTER_END' })
  expect(await closing).toBe(error)
  await expect(compressor.write(noise('1', 10))).rejects.toBe(error)
})

describe('a compressor that was destroyed', () => {
  it.each([
    ['shadow', 'zlib'],
    ['shadow', 'brotli'],
    ['ratio', 'brotli-9'],
    ['ratio', 'brotli'],
    ['none', 'zlib'],
  ] as const)('rejects a write: %s, %s', async (kind, name) => {
    const compressor = create({ kind, algorithm: compressionAlgorithm(name) })
    await compressor.write(noise('0', 10))
    compressor.destroy()
    await expect(compressor.write(noise('1', 10))).rejects.toThrow()
  })
})
