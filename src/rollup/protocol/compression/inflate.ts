import type { SlicedTask } from '../../../lib/slicedTask.ts'

// A decoder of zlib streams (RFC 1950 and 1951) that keeps its output if the data are corrupt or too long. In this case
// node:zlib drops all output, but the batches before a fault are valid.
// Only corrupt or too long channels use this decoder, because the native decoder is several times as fast. It behaves
// like Go's compress/zlib, which op-node uses and which decides how much of a broken stream counts.

const MAX_BITS = 15
const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
]
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577,
]
const DISTANCE_EXTRA = [
  0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
]
/** Order of the code length codes in a dynamic block (RFC 1951, 3.2.7). */
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

export interface Decompressed {
  /** The output before the end, the limit or the fault. */
  output: Uint8Array
  /** Why decoding stopped early; absent for a complete stream. */
  fault?: string
}

/** Decodes a zlib stream up to `maxBytes` of output. Never throws. The Adler-32 trailer is not verified. */
export function* inflatePrefix(data: Uint8Array, maxBytes: number): SlicedTask<Decompressed> {
  const state = new Inflater(data, maxBytes)
  try {
    yield* state.run()
  } catch (error) {
    if (!(error instanceof InflateFault)) throw error
    return { output: state.output(), fault: error.message }
  }
  return { output: state.output() }
}

class InflateFault extends Error {}

/** Canonical Huffman code: the number of codes of each length, and the symbols in the order of their codes. */
interface HuffmanCode {
  counts: Uint16Array
  symbols: Uint16Array
  /** Number of bits that must be available before a symbol is read, even if the symbol has fewer. */
  leastBits: number
}

interface BlockCodes {
  literals: HuffmanCode
  distances: HuffmanCode
}

const END_OF_BLOCK = 256
/** Maximum ratio of Deflate: 258 bytes from two bits. Unwritten pages cost nothing, but growing would copy. */
const MAX_EXPANSION = 1032
/** Output bytes before the decoder yields to the event loop. */
const OUTPUT_PER_STEP = 32_768

class Inflater {
  private readonly data: Uint8Array
  private position = 2
  private bits = 0
  private bitCount = 0
  private readonly buffer: Uint8Array<ArrayBuffer>
  private length = 0

  constructor(data: Uint8Array, maxBytes: number) {
    this.data = data
    this.buffer = new Uint8Array(Math.min(maxBytes, data.length * MAX_EXPANSION))
  }

  output(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }

  *run(): SlicedTask<void> {
    const method = this.data[0] ?? 0
    const flags = this.data[1] ?? 0
    const windowTooLarge = method >> 4 > 7
    if ((method & 0x0f) !== 8 || windowTooLarge || ((method << 8) | flags) % 31 !== 0) {
      throw new InflateFault('bad zlib header')
    }
    if ((flags & 0x20) !== 0) this.skipDictionaryId()
    let isLast = false
    while (!isLast) {
      isLast = this.readBits(1) === 1
      const type = this.readBits(2)
      if (type === 0) {
        this.storedBlock()
        yield
        continue
      }
      if (type === 3) throw new InflateFault('bad block type')
      const codes = type === 1 ? FIXED_CODES : this.readCodes()
      while (!this.decodeSymbols(codes, this.length + OUTPUT_PER_STEP)) yield
    }
  }

  /** Preset dictionaries are not supported. Only an empty dictionary, whose Adler-32 is 1, is accepted. */
  private skipDictionaryId(): void {
    const id = this.data.subarray(2, 6)
    if (id.length < 4) throw new InflateFault('unexpected end of stream')
    if (id[0] !== 0 || id[1] !== 0 || id[2] !== 0 || id[3] !== 1) throw new InflateFault('preset dictionary')
    this.position = 6
  }

  /** Loads at least `count` bits without consuming them. */
  private needBits(count: number): void {
    while (this.bitCount < count) {
      const byte = this.data[this.position]
      if (byte === undefined) throw new InflateFault('unexpected end of stream')
      this.position++
      this.bits |= byte << this.bitCount
      this.bitCount += 8
    }
  }

  private readBits(count: number): number {
    this.needBits(count)
    const value = this.bits & ((1 << count) - 1)
    this.bits >>>= count
    this.bitCount -= count
    return value
  }

  private readSymbol(code: HuffmanCode): number {
    this.needBits(code.leastBits)
    let value = 0
    let first = 0
    let index = 0
    for (let length = 1; length <= MAX_BITS; length++) {
      value |= this.readBits(1)
      const count = code.counts[length] ?? 0
      if (value - count < first) return code.symbols[index + value - first] ?? 0
      index += count
      first = (first + count) << 1
      value <<= 1
    }
    throw new InflateFault('bad code')
  }

  private storedBlock(): void {
    this.bits = 0
    this.bitCount = 0
    const length = this.readBits(16)
    const complement = this.readBits(16)
    if (length !== (~complement & 0xffff)) throw new InflateFault('bad stored block length')
    const available = Math.min(length, this.data.length - this.position)
    const taken = this.reserve(available)
    this.buffer.set(this.data.subarray(this.position, this.position + taken), this.length)
    this.length += taken
    this.position += taken
    if (taken < available) throw new InflateFault('output limit')
    if (available < length) throw new InflateFault('unexpected end of stream')
  }

  private readCodes(): BlockCodes {
    const lengthCodes = this.readBits(5) + 257
    const distanceCodes = this.readBits(5) + 1
    const codeLengthCodes = this.readBits(4) + 4
    if (lengthCodes > 286 || distanceCodes > 30) throw new InflateFault('too many codes')
    const lengths = new Uint8Array(lengthCodes + distanceCodes)
    const codeLengths = new Uint8Array(19)
    for (let i = 0; i < codeLengthCodes; i++) codeLengths[CODE_LENGTH_ORDER[i] ?? 0] = this.readBits(3)
    const codeLengthCode = buildCode(codeLengths)
    for (let i = 0; i < lengths.length; ) {
      const symbol = this.readSymbol(codeLengthCode)
      if (symbol < 16) {
        lengths[i++] = symbol
        continue
      }
      if (symbol === 16 && i === 0) throw new InflateFault('repeat without a length')
      const value = symbol === 16 ? (lengths[i - 1] ?? 0) : 0
      const repeat = symbol === 16 ? 3 + this.readBits(2) : symbol === 17 ? 3 + this.readBits(3) : 11 + this.readBits(7)
      if (i + repeat > lengths.length) throw new InflateFault('too many lengths')
      lengths.fill(value, i, i + repeat)
      i += repeat
    }
    const literals = buildCode(lengths.subarray(0, lengthCodes))
    // Go requires as many bits as the end-of-block code has, because this code must follow.
    literals.leastBits = Math.max(literals.leastBits, lengths[END_OF_BLOCK] ?? 0)
    return { literals, distances: buildCode(lengths.subarray(lengthCodes)) }
  }

  /** Decodes until the block ends or the output has the length `until`. Returns true at the end of the block. */
  private decodeSymbols({ literals, distances }: BlockCodes, until: number): boolean {
    while (this.length < until) {
      const symbol = this.readSymbol(literals)
      if (symbol === END_OF_BLOCK) return true
      if (symbol < 256) {
        if (this.reserve(1) === 0) throw new InflateFault('output limit')
        this.buffer[this.length++] = symbol
        continue
      }
      const base = LENGTH_BASE[symbol - 257]
      if (base === undefined) throw new InflateFault('bad length')
      const length = base + this.readBits(LENGTH_EXTRA[symbol - 257] ?? 0)
      const distanceSymbol = this.readSymbol(distances)
      const distanceBase = DISTANCE_BASE[distanceSymbol]
      if (distanceBase === undefined) throw new InflateFault('bad distance')
      const distance = distanceBase + this.readBits(DISTANCE_EXTRA[distanceSymbol] ?? 0)
      if (distance > this.length) throw new InflateFault('distance before the start')
      this.copy(length, distance)
    }
    return false
  }

  private copy(length: number, distance: number): void {
    const taken = this.reserve(length)
    const { buffer } = this
    for (let i = 0; i < taken; i++, this.length++) buffer[this.length] = buffer[this.length - distance] ?? 0
    if (taken < length) throw new InflateFault('output limit')
  }

  /** How many of `wanted` bytes the limit allows. */
  private reserve(wanted: number): number {
    return Math.min(wanted, this.buffer.length - this.length)
  }
}

/**
 * Builds a code. Throws InflateFault for an over-subscribed set of lengths, and for an incomplete set with more than
 * one code. This is as lenient as Go's compress/flate, which op-node uses; zlib rejects a few more sets.
 */
function buildCode(lengths: Uint8Array): HuffmanCode {
  const counts = new Uint16Array(MAX_BITS + 1)
  for (const length of lengths) counts[length] = (counts[length] ?? 0) + 1
  const used = lengths.length - (counts[0] ?? 0)
  counts[0] = 0
  let left = 1
  for (let length = 1; length <= MAX_BITS; length++) {
    left = left * 2 - (counts[length] ?? 0)
    if (left < 0) throw new InflateFault('over-subscribed code')
  }
  const isSingle = used === 0 || (used === 1 && counts[1] === 1)
  if (left > 0 && !isSingle) throw new InflateFault('incomplete code')
  const offsets = new Uint16Array(MAX_BITS + 2)
  for (let length = 1; length <= MAX_BITS; length++) {
    offsets[length + 1] = (offsets[length] ?? 0) + (counts[length] ?? 0)
  }
  const symbols = new Uint16Array(lengths.length)
  lengths.forEach((length, symbol) => {
    if (length === 0) return
    const offset = offsets[length] ?? 0
    symbols[offset] = symbol
    offsets[length] = offset + 1
  })
  const leastBits = Math.max(
    0,
    counts.findIndex((count) => count > 0),
  )
  return { counts, symbols, leastBits }
}

const FIXED_LENGTHS = buildCode(
  Uint8Array.from({ length: 288 }, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8)),
)
const FIXED_DISTANCES: HuffmanCode = {
  counts: Uint16Array.from({ length: MAX_BITS + 1 }, (_, length) => (length === 5 ? 30 : 0)),
  symbols: Uint16Array.from({ length: 30 }, (_, symbol) => symbol),
  leastBits: 5,
}
const FIXED_CODES: BlockCodes = { literals: FIXED_LENGTHS, distances: FIXED_DISTANCES }
