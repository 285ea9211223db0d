import { expect, it } from 'vitest'
import { COMPRESSION_ALGORITHMS, compressAll, compressionAlgorithm, quickLength } from './algorithm.ts'

it('plain brotli has quality 10', () => {
  expect(COMPRESSION_ALGORITHMS.map(compressionAlgorithm)).toEqual([
    { kind: 'zlib' },
    ...[10, 9, 10, 11].map((quality) => ({ kind: 'brotli', quality })),
  ])
})

it('estimates the length with the lowest quality that finds repetitions', async () => {
  const data = Uint8Array.from({ length: 30_000 }, (_, index) => (index % 97) * (index % 89))
  const atOnce = await compressAll(data, { kind: 'brotli', quality: 1 })
  // The first byte tells brotli from zlib.
  expect(await quickLength(data)).toBe(atOnce.length - 1)
})
