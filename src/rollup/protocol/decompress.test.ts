import { brotliCompressSync, constants, deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { brotliSteps, brotliWindowBytes, greatestWhere } from './brotliSteps.ts'
import { decompress, decompressLater } from './decompress.ts'

const OPTS = { fjord: true, maxRlpBytes: 20_000_000 }
let state = 1
/** Five random bits a byte: no more than that is to be gained by compression. */
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

describe('how much of a zlib stream counts', () => {
  it('is all of one that names an empty preset dictionary, and nothing where it names another', () => {
    const withDictionary = (id: Uint8Array) => {
      const header = Uint8Array.of(0x78, 0x20)
      header[1] = 0x20 + ((31 - (0x7820 % 31)) % 31)
      return concatBytes(header, id, ZLIB.subarray(2))
    }
    expect(decompress(withDictionary(Uint8Array.of(0, 0, 0, 1)), OPTS).output).toEqual(TEXT)
    expect(decompress(withDictionary(Uint8Array.of(0, 0, 0, 2)), OPTS)).toMatchObject({ fault: 'preset dictionary' })
  })

  it('is no more than what has the bits of an end of block behind it', () => {
    // Fixed codes: an end of block has 7 bits, a literal 8 or 9. Dynamic ones may have shorter literals: where the rest is shorter than the end
    // would be, Go reads nothing more of it.
    for (let cut = 1; cut < 40; cut++) {
      const { output } = decompress(ZLIB.subarray(0, 5000 - cut), OPTS)
      const { output: more } = decompress(ZLIB.subarray(0, 5000 - cut + 1), OPTS)
      expect(output.length).toBeLessThanOrEqual(more.length)
      expect(Buffer.compare(output, TEXT.subarray(0, output.length))).toBe(0)
    }
  })
})

describe('how much of a brotli stream counts', () => {
  it('comes in a first step of 4,095 bytes and steps of 32 kB', () => {
    expect(brotliSteps(4095)).toEqual([4095])
    expect(brotliSteps(40_000)).toEqual([4095, 36_863, 40_000])
  })

  it.each([10, 11, 16, 17, 18, 22, 24])('knows a window of 2^%i bytes', (window) => {
    expect(brotliWindowBytes(brotli(TEXT, window).subarray(1))).toBe(2 ** window)
  })

  it('is what whole steps before a fault gave', () => {
    const data = brotli(TEXT)
    const at = 1 + 4095 + 32_768 + 100
    const broken = concatBytes(data.subarray(0, at), new Uint8Array(data.length - at).fill(0xff))
    const { output, fault } = decompress(broken, OPTS)
    expect(fault).toBeDefined()
    // The fault may show itself some steps later.
    const lengths = brotliSteps(data.length - 1).map(
      (end) => decompress(broken.subarray(0, 1 + end), OPTS).output.length,
    )
    expect(lengths.slice(1)).toContain(output.length)
    expect(output.length).toBeLessThan(TEXT.length)
  })
})

it('the greatest number where a test holds is found', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.nat(1000),
      (last, limit) => greatestWhere(last, (n) => n <= limit) === Math.min(last, limit),
    ),
  )
})

describe('decompressing without holding the event loop', () => {
  const LARGE = concatBytes(...Array.from({ length: 20 }, () => TEXT))
  const compressed = [new Uint8Array(deflateSync(LARGE)), brotli(LARGE), brotli(LARGE, 16)]

  it.each([0, 1, 2])('gives the same as at once: %i', async (index) => {
    const data = compressed[index] ?? LARGE
    const faulty = data.slice()
    faulty.fill(0x55, Math.floor(data.length * 0.7), Math.floor(data.length * 0.7) + 9)
    for (const given of [data, data.subarray(0, data.length - 3), faulty]) {
      for (const maxRlpBytes of [20_000_000, 5_000_000, 100]) {
        const [later, now] = [
          await decompressLater(given, { ...OPTS, maxRlpBytes }),
          decompress(given, { ...OPTS, maxRlpBytes }),
        ]
        expect(later.output.length).toBe(now.output.length)
        expect(Buffer.compare(later.output, now.output)).toBe(0)
        if (later.output.length < maxRlpBytes) expect(later.fault === undefined).toBe(now.fault === undefined)
      }
    }
  })
})
