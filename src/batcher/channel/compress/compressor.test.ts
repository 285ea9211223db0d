import { randomBytes } from 'node:crypto'
import { brotliDecompressSync, inflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { compressAll } from './algorithm.ts'
import { createCompressor } from './compressor.ts'

/** Words of 32 bytes: random ones between few repeated ones. */
function madeWords(): Uint8Array {
  const known = Array.from({ length: 200 }, () => randomBytes(32))
  return concatBytes(
    ...Array.from({ length: 4_000 }, (_, index) =>
      index % 2 === 0 ? randomBytes(32) : (known[(index * index) % known.length] ?? randomBytes(32)),
    ),
  )
}

const REPEATED = new TextEncoder().encode('transfer(address,uint256) approve(address,uint256) '.repeat(300))

it.each([
  { id: 'words', data: madeWords() },
  { id: 'text', data: REPEATED },
])('brotli 10 and 11 are never longer than quality 9: $id', async ({ data }) => {
  for (const quality of [10, 11]) {
    const compressor = createCompressor({ kind: 'brotli', quality })
    await compressor.write(data.subarray(0, 1_000))
    await compressor.write(data.subarray(1_000))
    expect(compressor.readyBytes).toBe(0)
    await compressor.end()
    const { readyBytes } = compressor
    const output = concatBytes(compressor.read(100), compressor.read(Number.POSITIVE_INFINITY))
    expect(output).toHaveLength(readyBytes)
    const [simple, requested] = await Promise.all(
      [9, quality].map((each) => compressAll(data, { kind: 'brotli', quality: each })),
    )
    if (simple === undefined || requested === undefined) throw new Error('nothing was compressed')
    expect(output).toHaveLength(Math.min(simple.length, requested.length))
    expect(output[0]).toBe(1)
    expect(Buffer.compare(brotliDecompressSync(output.subarray(1)), data)).toBe(0)
  }
})

it('zlib gives the same bytes in parts as at once', async () => {
  const data = madeWords()
  const compressor = createCompressor({ kind: 'zlib' })
  await compressor.write(data.subarray(0, 1_000))
  await compressor.write(data.subarray(1_000))
  await compressor.end()
  const output = compressor.read(Number.POSITIVE_INFINITY)
  expect(Buffer.compare(output, await compressAll(data, { kind: 'zlib' }))).toBe(0)
  expect(Buffer.compare(inflateSync(output), data)).toBe(0)
})

it.each([
  { quality: 9, isReady: true },
  { quality: 10, isReady: false },
])('only brotli above quality 9 waits with its output for the end: $quality', ({ quality, isReady }) => {
  expect(createCompressor({ kind: 'brotli', quality }).readyBytes > 0).toBe(isReady)
})
