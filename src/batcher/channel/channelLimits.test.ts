import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { decodeBatch, openChannelBatches } from '../../rollup/protocol/index.ts'
import { block, blocksOf, configOf, rollupConfig } from '../testUtils/spanBlocks.ts'
import type { ChannelOut } from './channelOut.ts'
import { type Compressor, createCompressor } from './compress/compressor.ts'
import { SingularChannelOut } from './singularChannelOut.ts'
import { type ExpectedCompression, SpanChannelOut } from './spanChannelOut.ts'

const NOISE = { noise: 1_000, zeros: 0 }
const UNKNOWN: ExpectedCompression = { ratio: 1, quickRatio: undefined }

function spanOut(
  options: Parameters<typeof configOf>[0],
  { expected = UNKNOWN, quickLength = async (data: Uint8Array) => data.length, onDestroy = () => {} } = {},
) {
  const config = configOf(options)
  const compression = {
    quickLength,
    createCompressor(): Compressor {
      const compressor = createCompressor(config.algorithm)
      const destroy = compressor.destroy.bind(compressor)
      return Object.assign(compressor, {
        destroy() {
          onDestroy()
          destroy()
        },
      })
    },
  }
  return new SpanChannelOut(config, rollupConfig, { ...expected }, compression)
}

/** The block counts of the spans in a closed channel. */
async function spansIn(out: ChannelOut): Promise<number[]> {
  await out.close()
  const batches = await openChannelBatches(out.read(Number.POSITIVE_INFINITY), { fjord: true, maxRlpBytes: 1e8 })
  return Array.from(batches, (bytes) => {
    const batch = decodeBatch(bytes, rollupConfig)
    return batch.type === 'span' ? batch.elements.length : 0
  })
}

describe('the RLP bytes of a channel', () => {
  const beforeFjord = { ...rollupConfig, forks: { ecotone: 0 } }
  const LIMIT = 10_000_000

  it('reach the limit of derivation with singular batches, and never pass it', async () => {
    const million = new Uint8Array(1_000_000)
    for (const [over, added] of [
      [0, true],
      [1, false],
    ] as const) {
      const out = new SingularChannelOut(configOf({}), beforeFjord)
      for (let number = 1; number < 10; number++) await out.addBlock(block(number, [million]))
      const overhead = out.inputBytes / 9 - million.length
      const rest = LIMIT - out.inputBytes - overhead
      expect(await out.addBlock(block(10, [new Uint8Array(rest + over)]))).toEqual(
        added ? { added } : { added, full: 'rlpLimit' },
      )
      expect(out.inputBytes).toBe(added ? LIMIT : LIMIT - rest - overhead)
      out.destroy()
    }
  })

  it('may reach the limit of derivation with a span, by the largest size that its next block can have', async () => {
    const [first, second] = blocksOf([NOISE, NOISE])
    if (first === undefined || second === undefined) throw new Error('no blocks')
    const out = new SpanChannelOut(configOf({}), beforeFjord)
    await out.addBlock(first)
    // Beside the block: 80 bytes of a span, and 70 for a transaction whose signature has leading zeros.
    const rawSizeBytes = LIMIT - out.inputBytes - 80 - 70
    expect(await out.addBlock({ ...second, rawSizeBytes: rawSizeBytes + 1 })).toEqual({
      added: false,
      full: 'rlpLimit',
    })
    expect(await out.addBlock({ ...second, rawSizeBytes })).toEqual({ added: true })
    out.destroy()
  })
})

describe('a span', () => {
  it('ends with the most blocks that it may have', async () => {
    const out = spanOut({ maxBlocksPerSpanBatch: 3 })
    expect(out.inputBytes).toBe(0)
    for (const next of blocksOf(Array.from({ length: 6 }, () => NOISE))) await out.addBlock(next)
    const { inputBytes } = out
    expect(await spansIn(out)).toEqual([3, 3])
    expect(out.inputBytes).toBe(inputBytes)
  })

  it('ends above 4 MB, because its encoding blocks the event loop', async () => {
    const out = spanOut({}, { expected: { ratio: 0.001, quickRatio: undefined } })
    for (const next of blocksOf(Array.from({ length: 7 }, () => ({ noise: 0, zeros: 1_000_000 }))))
      await out.addBlock(next)
    expect(await spansIn(out)).toEqual([4, 3])
  })
})

describe('a span channel', () => {
  const [first, second] = blocksOf([NOISE, NOISE])
  if (first === undefined || second === undefined) throw new Error('no blocks')

  it('is full with a first block that alone reaches the target', async () => {
    const alone = spanOut({})
    await alone.addBlock(first)
    await alone.close()
    const maxL1TxSizeBytes = alone.readyBytes + 24
    expect(await spanOut({ maxL1TxSizeBytes }).addBlock(first)).toEqual({ added: true, full: 'compressor' })
    expect(await spanOut({ maxL1TxSizeBytes: maxL1TxSizeBytes + 1 }).addBlock(first)).toEqual({ added: true })
  })

  it('is closed by the third time that it returns blocks', async () => {
    // The estimate jumps from far below the target to twice the target.
    const out = spanOut(
      { maxL1TxSizeBytes: 10_000 },
      { expected: { ratio: 0.1, quickRatio: 1 }, quickLength: async ({ length }) => (length < 4_000 ? 100 : 20_000) },
    )
    const returns: unknown[] = []
    const blocks = blocksOf(Array.from({ length: 100 }, () => NOISE))
    let at = 0
    for (let next = blocks[at]; next !== undefined; next = blocks[at]) {
      const { added, full, returned = 0 } = await out.addBlock(next)
      at += (added ? 1 : 0) - returned
      if (returned > 0) returns.push(full)
      if (full !== undefined) break
    }
    expect(returns).toEqual([undefined, undefined, 'compressor'])
  })

  it('is not estimated again if one block is too many', async () => {
    const lengths = [10_050, 5_000]
    const out = spanOut(
      { maxL1TxSizeBytes: 10_000 },
      { expected: { ratio: 0.1, quickRatio: 1 }, quickLength: async () => lengths.shift() ?? 0 },
    )
    for (const next of blocksOf(Array.from({ length: 200 }, () => NOISE))) {
      const { returned } = await out.addBlock(next)
      if (returned === undefined) continue
      expect([returned, lengths]).toEqual([1, [5_000]])
      return
    }
    throw new Error('no block was returned')
  })

  it('returns what does not fit when it is closed, in more than one step', async () => {
    const blocks = blocksOf(Array.from({ length: 30 }, (_, index) => ({ noise: 100 + index * 50, zeros: 0 })))
    const out = spanOut({ maxL1TxSizeBytes: 5_000 }, { expected: { ratio: 0.01, quickRatio: 1 } })
    for (const next of blocks) expect(await out.addBlock(next)).toEqual({ added: true })
    const returned = await out.close()
    expect(out.readyBytes).toBeLessThanOrEqual(5_000 - 24)
    const data = out.read(Number.POSITIVE_INFINITY)
    const [span] = await openChannelBatches(data, { fjord: true, maxRlpBytes: 1e8 })
    const batch = decodeBatch(span ?? new Uint8Array(), rollupConfig)
    expect(batch.type === 'span' && batch.elements.length).toBe(30 - returned)
  })

  it('learns the quick compressor’s ratio only from an estimate of about the same blocks', async () => {
    const expected = { ...UNKNOWN }
    const close = async (quickLength: (data: Uint8Array) => Promise<number>, bytes: number) => {
      const out = new SpanChannelOut(configOf({ maxL1TxSizeBytes: bytes }), rollupConfig, expected, {
        createCompressor: () => createCompressor({ kind: 'zlib' }),
        quickLength,
      })
      for (const next of blocksOf(Array.from({ length: 4 }, () => NOISE)))
        if ((await out.addBlock(next)).full !== undefined) break
      await out.close()
      return out
    }
    await close(async (data) => data.length, 100_000)
    expect(expected.quickRatio).toBeUndefined()
    expect(expected.ratio).toBeCloseTo(1, 1)
    await close(async (data) => data.length / 2, 3_300)
    expect(expected.quickRatio).toBeCloseTo(2, 1)
    // An average of what was known and what is seen.
    await close(async (data) => data.length, 3_300)
    expect(expected.quickRatio).toBeCloseTo(1.5, 1)
  })

  it('holds nothing once it is destroyed, and frees a compressor whose output is no longer that of its blocks', async () => {
    let destroyed = 0
    const out = spanOut({ maxL1TxSizeBytes: 100 }, { onDestroy: () => destroyed++ })
    expect([out.readyBytes, out.read(10)]).toEqual([0, new Uint8Array()])
    await out.addBlock(first)
    expect(destroyed).toBe(0)
    out.destroy()
    out.destroy()
    expect([destroyed, out.inputBytes, out.readyBytes]).toEqual([1, 0, 0])
  })

  it('is read in parts', async () => {
    const [whole, parts] = [spanOut({}), spanOut({})]
    for (const out of [whole, parts]) {
      await out.addBlock(first)
      expect(await out.addBlock(second)).toEqual({ added: true })
      expect(out.readyBytes).toBe(0)
      expect(await out.close()).toBe(0)
    }
    expect(concatBytes(parts.read(100), parts.read(1_000_000))).toEqual(whole.read(1_000_000))
    expect(parts.readyBytes).toBe(0)
  })
})
