import { deflateSync, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { runNow } from '../../../lib/slicedTask.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { inflatePrefix } from '../compression/inflate.ts'
import { COMPRESSION_ALGORITHMS, compressChannel, openChannelBatches } from './channel.ts'

const OPTS = { fjord: true, maxRlpBytes: 100_000_000 }
/** Batches of type 0 with compressible content. */
const BATCHES = Array.from({ length: 40 }, (_, i) =>
  Uint8Array.from({ length: 500 }, (__, k) => (k === 0 ? 0 : k % 7 === 0 ? (k * k * (i + 1)) & 0xff : i)),
)
const RLP = concatBytes(...BATCHES.map(encodeRlp))

/** The batches before the end or the first error. */
async function read(data: Uint8Array, opts = OPTS): Promise<{ batches: Uint8Array[]; error?: unknown }> {
  const batches: Uint8Array[] = []
  try {
    for (const batch of await openChannelBatches(data, opts)) batches.push(batch)
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError)
    return { batches, error }
  }
  return { batches }
}

describe('openChannelBatches', () => {
  it.each(COMPRESSION_ALGORITHMS)('decompresses data of %s', async (algorithm) => {
    expect(await read(compressChannel(RLP, algorithm))).toEqual({ batches: BATCHES })
  })

  it('refuses brotli before Fjord, unknown compression and empty data', async () => {
    expect((await read(compressChannel(RLP, 'brotli-9'), { ...OPTS, fjord: false })).error).toBeDefined()
    expect((await read(Uint8Array.of(2, 3, 4))).error).toBeDefined()
    expect((await read(new Uint8Array(0))).error).toBeDefined()
  })

  it.each(['zlib', 'brotli-10'] as const)(
    'keeps the batches before the end of truncated %s data',
    async (algorithm) => {
      const whole = compressChannel(RLP, algorithm)
      const { batches, error } = await read(whole.subarray(0, Math.floor(whole.length * 0.8)))
      expect(error).toBeDefined()
      expect(batches.length).toBeGreaterThan(BATCHES.length / 3)
      expect(batches).toEqual(BATCHES.slice(0, batches.length))
    },
  )

  it('keeps the batches before corrupt zlib data', async () => {
    const blocks = BATCHES.map((batch) => deflateSync(encodeRlp(batch), { level: 9 }).subarray(2, -4))
    // Two batches in a valid block, then a stored block of length 3 with a wrong complement.
    const sound = deflateSync(concatBytes(...BATCHES.slice(0, 2).map(encodeRlp)), { level: 0 }).subarray(0, -4)
    sound[2] = 0
    const { batches, error } = await read(concatBytes(sound, Uint8Array.of(1, 3, 0, 0, 0, 1, 2, 3), ...blocks))
    expect(batches).toEqual(BATCHES.slice(0, 2))
    expect(error).toBeDefined()
  })

  it('keeps all batches if only the checksum is wrong', async () => {
    const data = compressChannel(RLP, 'zlib').slice()
    data[data.length - 1] = (data[data.length - 1] ?? 0) ^ 1
    expect((await read(data)).batches).toEqual(BATCHES)
  })

  it('keeps the batches before a corrupt end of zlib data', async () => {
    const data = compressChannel(RLP, 'zlib').slice()
    data.fill(0xff, Math.floor(data.length * 0.9))
    const { batches, error } = await read(data)
    expect(error).toBeDefined()
    // The decoder's output for the first corrupt bytes may still look like a batch.
    expect(batches.slice(0, 32)).toEqual(BATCHES.slice(0, 32))
  })

  it('keeps the output of complete 32 kB steps before a fault in brotli data', async () => {
    const random = Array.from({ length: 60 }, (_, i) => concatBytes(Uint8Array.of(0), incompressible(3000, i)))
    const data = compressChannel(concatBytes(...random.map(encodeRlp)), 'brotli-9').slice()
    expect(data.length).toBeGreaterThan(110_000)
    data.fill(0xff, 100_000)
    const { batches, error } = await read(data)
    expect(error).toBeDefined()
    // Three steps are 98,304 bytes of incompressible data, 32 batches.
    const sound = batches.findIndex((batch, i) => Buffer.compare(batch, random[i] ?? batch) !== 0)
    expect(sound === -1 ? batches.length : sound).toBeGreaterThanOrEqual(32)
    expect(batches.length).toBeLessThan(60)
    data.fill(0xff, 3)
    expect((await read(data)).batches.length).toBe(0)
  })

  it.each(COMPRESSION_ALGORITHMS)('reads %s data up to the exact limit', async (algorithm) => {
    const perBatch = RLP.length / BATCHES.length
    const data = compressChannel(RLP, algorithm)
    expect(await read(data, { ...OPTS, maxRlpBytes: RLP.length })).toEqual({ batches: BATCHES })
    for (const [limit, count] of [
      [perBatch * 30 + 1, 30],
      [perBatch * 30, 30],
      [perBatch * 30 - 1, 29],
      [1, 0],
    ] as const) {
      const { batches, error } = await read(data, { ...OPTS, maxRlpBytes: limit })
      expect(batches).toEqual(BATCHES.slice(0, count))
      // If the data end exactly with a batch at the limit, the cut is not visible.
      if (limit !== perBatch * 30) expect(error).toBeDefined()
    }
  })

  it('stops at RLP that is not a byte string, and at an unknown batch type', async () => {
    const [first = new Uint8Array(0), second = new Uint8Array(0)] = BATCHES
    const channel = (fault: Uint8Array) =>
      read(compressChannel(concatBytes(encodeRlp(first), fault, encodeRlp(second)), 'zlib'))
    for (const fault of [
      encodeRlp([1, 2]),
      Uint8Array.of(0x80),
      Uint8Array.of(5),
      encodeRlp(Uint8Array.of(2, 1)),
      Uint8Array.of(0x81, 1),
    ]) {
      const { batches, error } = await channel(fault)
      expect(batches).toEqual([first])
      expect(error).toBeDefined()
    }
  })

  it('throws only DecodeError', async () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 })
    const compressed = COMPRESSION_ALGORITHMS.slice(0, 2).map((algorithm) => compressChannel(RLP, algorithm))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...compressed), changes, async (data, list) => {
        const bytes = data.slice()
        for (const [at, byte] of list) bytes[at % bytes.length] = byte
        await read(bytes)
      }),
      { numRuns: propertyRuns(60) },
    )
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), async (bytes) => {
        await read(bytes)
      }),
    )
  })
})

describe('inflatePrefix', () => {
  it('inflates data of zlib at every level', () => {
    const data = fc.oneof(
      fc.uint8Array({ maxLength: 2000 }),
      fc.array(fc.constantFrom(1, 2, 3), { maxLength: 5000 }).map((list) => Uint8Array.from(list)),
    )
    fc.assert(
      fc.property(data, fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 4 }), (bytes, level, strategy) => {
        const { output, fault } = runNow(inflatePrefix(deflateSync(bytes, { level, strategy }), 1_000_000))
        expect(fault).toBeUndefined()
        expect(Buffer.compare(output, bytes)).toBe(0)
      }),
    )
  })

  it('returns a prefix of the native result at a limit or for truncated data', () => {
    const deflated = deflateSync(RLP)
    for (const limit of [0, 1, 300, 5000, RLP.length]) {
      const { output, fault } = runNow(inflatePrefix(deflated, limit))
      expect(Buffer.compare(output, RLP.subarray(0, limit))).toBe(0)
      expect(fault === undefined).toBe(limit === RLP.length)
    }
    for (let length = 0; length < deflated.length - 4; length += 97) {
      const { output, fault } = runNow(inflatePrefix(deflated.subarray(0, length), RLP.length))
      expect(fault).toBeDefined()
      expect(Buffer.compare(output, RLP.subarray(0, output.length))).toBe(0)
    }
  })

  it('accepts and refuses the same data as the native decoder', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 })
    const originals = [
      deflateSync(RLP),
      deflateSync(RLP.subarray(0, 3000), { level: 1 }),
      deflateSync(RLP.subarray(0, 200), { strategy: 4 }),
    ]
    fc.assert(
      fc.property(fc.constantFrom(...originals), changes, (original, list) => {
        const data = new Uint8Array(original)
        // The header stays unchanged: the native decoder checks its window size, ours and Go's do not.
        for (const [at, byte] of list) data[2 + (at % (data.length - 2))] = byte
        const { output, fault } = runNow(inflatePrefix(data, 1_000_000))
        let native: Uint8Array | undefined
        try {
          native = inflateSync(data)
        } catch (error) {
          // Only the native decoder verifies the checksum, and it rejects some codes that Go accepts.
          const isStricter =
            /incorrect data check|unexpected end|code lengths set|literal\/lengths set|distances set|end-of-block/
          if (!isStricter.test(String(error))) expect(fault).toBeDefined()
        }
        if (native !== undefined) {
          expect(fault).toBeUndefined()
          expect(Buffer.compare(output, native)).toBe(0)
        }
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})

/** Incompressible bytes, the same for the same seed. */
function incompressible(length: number, seed: number): Uint8Array {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, i) => keccak256(Uint8Array.of(seed, i)))
  return concatBytes(...blocks).subarray(0, length)
}
