import { brotliCompressSync, brotliDecompressSync, constants, deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { runNow } from '../../../lib/slicedTask.ts'
import { brotliSteps, brotliWindowBytes } from './brotliSteps.ts'
import { decompress } from './decompress.ts'
import { type Decompressed, inflatePrefix } from './inflate.ts'

const OPTS = { fjord: true, maxRlpBytes: 20_000_000 }
let state = 1
/** Five random bits in each byte, so compression cannot gain more. */
const TEXT = Uint8Array.from({ length: 300_000 }, () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state >>> 27
})
const ZLIB = new Uint8Array(deflateSync(TEXT))
const brotli = (data: Uint8Array, window = 22) =>
  concatBytes(
    Uint8Array.of(1),
    brotliCompressSync(data, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: window },
    }),
  )

describe('the accepted part of a zlib stream', () => {
  it('is everything with an empty preset dictionary, and nothing with another one', async () => {
    const withDictionary = (id: Uint8Array) => {
      const header = Uint8Array.of(0x78, 0x20)
      header[1] = 0x20 + ((31 - (0x7820 % 31)) % 31)
      return concatBytes(header, id, ZLIB.subarray(2))
    }
    expect((await decompress(withDictionary(Uint8Array.of(0, 0, 0, 1)), OPTS)).output).toEqual(TEXT)
    expect(await decompress(withDictionary(Uint8Array.of(0, 0, 0, 2)), OPTS)).toMatchObject({
      fault: 'preset dictionary',
    })
  })

  it('ends at the bits of an end of block', async () => {
    // In a fixed code, an end of block has 7 bits, a literal 8 or 9. Dynamic codes may have shorter literals. If fewer
    // bits are left than an end of block has, Go reads nothing more.
    for (let cut = 1; cut < 40; cut++) {
      const { output } = await decompress(ZLIB.subarray(0, 5000 - cut), OPTS)
      const { output: more } = await decompress(ZLIB.subarray(0, 5000 - cut + 1), OPTS)
      expect(output.length).toBeLessThanOrEqual(more.length)
      expect(Buffer.compare(output, TEXT.subarray(0, output.length))).toBe(0)
    }
  })
})

describe('the accepted part of a brotli stream', () => {
  it('consists of a first step of 4,095 bytes and steps of 32 kB', () => {
    expect(brotliSteps(4095)).toEqual([4095])
    expect(brotliSteps(40_000)).toEqual([4095, 36_863, 40_000])
  })

  it.each([10, 11, 16, 17, 18, 22, 24])('supports a window of 2^%i bytes', (window) => {
    expect(brotliWindowBytes(brotli(TEXT, window).subarray(1))).toBe(2 ** window)
  })

  it('consists of the complete steps before a fault', async () => {
    const data = brotli(TEXT)
    const at = 1 + 4095 + 32_768 + 100
    const broken = concatBytes(data.subarray(0, at), new Uint8Array(data.length - at).fill(0xff))
    const { output, fault } = await decompress(broken, OPTS)
    expect(fault).toBeDefined()
    // The decoder may report the fault some steps later.
    const lengths: number[] = []
    for (const end of brotliSteps(data.length - 1)) {
      lengths.push((await decompress(broken.subarray(0, 1 + end), OPTS)).output.length)
    }
    expect(lengths.slice(1)).toContain(output.length)
    expect(output.length).toBeLessThan(TEXT.length)
  })
})

it('the binary search finds the greatest number that passes a test', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.nat(1000),
      (last, limit) => greatestWhere(last, (n) => n <= limit) === Math.min(last, limit),
    ),
  )
})

describe('decompression in slices', () => {
  const LARGE = concatBytes(...Array.from({ length: 20 }, () => TEXT))
  const compressed = [new Uint8Array(deflateSync(LARGE)), brotli(LARGE), brotli(LARGE, 16)]

  it.each([0, 1, 2])('gives the same result as without slices: %i', async (index) => {
    const data = compressed[index] ?? LARGE
    const faulty = data.slice()
    faulty.fill(0x55, Math.floor(data.length * 0.7), Math.floor(data.length * 0.7) + 9)
    for (const given of [data, data.subarray(0, data.length - 3), faulty]) {
      for (const maxRlpBytes of [20_000_000, 5_000_000, 100]) {
        const [later, now] = [
          await decompress(given, { ...OPTS, maxRlpBytes }),
          index === 0 ? runNow(inflatePrefix(given, maxRlpBytes)) : plainBrotli(given.subarray(1), maxRlpBytes),
        ]
        expect(later.output.length).toBe(now.output.length)
        expect(Buffer.compare(later.output, now.output)).toBe(0)
        if (later.output.length < maxRlpBytes) expect(later.fault === undefined).toBe(now.fault === undefined)
      }
    }
  })
})

/** The rule for brotli, computed by decoding prefixes of the stream. */
function plainBrotli(data: Uint8Array, maxBytes: number): Decompressed {
  const whole = tryBrotli(data, maxBytes)
  if (whole instanceof Uint8Array) return { output: whole }
  const ends = brotliSteps(data.length)
  const isSound = (end: number) => tryBrotli(data.subarray(0, end), maxBytes) !== 'corrupt'
  const sound = ends[greatestWhere(ends.length, (step) => isSound(ends[step - 1] ?? 0)) - 1] ?? 0
  const output = cutBrotli(data, sound, maxBytes)
  if (output.length >= maxBytes || sound === data.length) return { output, fault: 'output limit' }
  const stepBytes = (ends.find((end) => end > sound) ?? sound) - sound
  const last = sound + greatestWhere(stepBytes, (more) => isSound(sound + more))
  const reached = cutBrotli(data, last, maxBytes)
  const windows = reached.length - (reached.length % brotliWindowBytes(data))
  return { output: windows > output.length ? reached.subarray(0, windows) : output, fault: 'brotli stream is corrupt' }
}

/** The output of a valid prefix, up to the limit. */
function cutBrotli(data: Uint8Array, end: number, maxBytes: number): Uint8Array {
  const output = tryBrotli(data.subarray(0, end), maxBytes)
  if (output instanceof Uint8Array) return output
  // The first prefix that reaches the limit exceeds it by at most one meta-block (RFC 7932, 9.2: MLEN).
  const isShort = (length: number) => tryBrotli(data.subarray(0, length), maxBytes) instanceof Uint8Array
  const more = tryBrotli(data.subarray(0, greatestWhere(end, isShort) + 1), maxBytes + 2 ** 24)
  return more instanceof Uint8Array ? more.subarray(0, maxBytes) : new Uint8Array()
}

function tryBrotli(data: Uint8Array, maxOutputLength: number): Uint8Array | 'corrupt' | 'too long' {
  try {
    return brotliDecompressSync(data, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH })
  } catch (error) {
    return error instanceof RangeError ? 'too long' : 'corrupt'
  }
}

/** The greatest number up to `last` for which the test holds. The test must hold at 0 and be monotonic. */
function greatestWhere(last: number, test: (value: number) => boolean): number {
  let low = 0
  let high = last + 1
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (test(middle)) low = middle
    else high = middle
  }
  return low
}
