import { existsSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../../lib/errors.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { runNow } from '../../../lib/slicedTask.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { testConfig } from '../testUtils/config.ts'
import { encodeDecodedSpanBatch } from '../testUtils/spanBatch.ts'
import { arbitraryBlocks, spanBlock as block } from '../testUtils/spanBlocks.ts'
import { decodeBatch, readBatch } from './batch.ts'
import { buildSpanBatch, decodeSpanBatch } from './spanBatch.ts'
import { encodeSpanBatch } from './spanBatchEncoder.ts'

const config = testConfig()
const TX1 = fromHex(
  '0xf86e098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008082072ea01685250ce9e4abca96f14a75f95d9eee32c7e3a853384f3d470e32f6648b2d03a07dac86aa675a638f38b446af59feae98b12d5a7742a5f26154a77e2d4fea1bfd',
)
const TX2 = fromHex(
  '0x02f8528203850a016482ea608080826000c080a0699bc8eac5c8ccdf93e1a8e68f7a9d85cbfcba09f1359d16d7da9628dfe85ac8a0254a3d38d303ac83002bc7dd588c4b47b5724faeb9e16a7d4db7adfc922c28dc',
)
const TX3 = fromHex(
  '0xf8610b078255f09435353535353535353535353535353535353535358082cafe1ba076fd49d9951275a3f05716fae30d92640ebf539ee93a3834866cd047e248fbaaa0218be3734d3bedf27bb690d4101d75876dc28f30b047891d5b400e7e6ae6f201',
)
const SPAN =
  '0xb901480166e907aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1212121212121212121212121212121212121212030402000102011685250ce9e4abca96f14a75f95d9eee32c7e3a853384f3d470e32f6648b2d037dac86aa675a638f38b446af59feae98b12d5a7742a5f26154a77e2d4fea1bfd699bc8eac5c8ccdf93e1a8e68f7a9d85cbfcba09f1359d16d7da9628dfe85ac8254a3d38d303ac83002bc7dd588c4b47b5724faeb9e16a7d4db7adfc922c28dc76fd49d9951275a3f05716fae30d92640ebf539ee93a3834866cd047e248fbaa218be3734d3bedf27bb690d4101d75876dc28f30b047891d5b400e7e6ae6f20135353535353535353535353535353535353535353535353535353535353535353535353535353535d0880de0b6b3a76400008504a817c8008002c7800164826000c0c5800782cafe090a0b88a401e0d403f0ab0101'

const BLOCKS = [
  block({ transactions: [TX1, TX2] }),
  block({ parentHash: `0x${'bb'.repeat(32)}`, timestamp: 1_700_000_104, sequenceNumber: 2 }),
  block({
    parentHash: `0x${'cc'.repeat(32)}`,
    timestamp: 1_700_000_106,
    epochNumber: 1001,
    epochHash: `0x${'12'.repeat(32)}`,
    sequenceNumber: 0,
    transactions: [TX3],
  }),
]

describe('span batch', () => {
  it('has the reference encoding', () => {
    expect(toHex(encodeRlp(encodeSpanBatch(BLOCKS, config)))).toBe(SPAN)
  })

  it('is decoded to its blocks', () => {
    const { type, parentCheck, l1OriginCheck, l1OriginNumber, elements } = decodeSpanBatch(
      fromHex(SPAN).subarray(3),
      config,
    )
    expect({ type, parentCheck, l1OriginCheck, l1OriginNumber, elements }).toEqual({
      type: 'span',
      parentCheck: `0x${'aa'.repeat(20)}`,
      l1OriginCheck: `0x${'12'.repeat(20)}`,
      l1OriginNumber: 1001n,
      elements: [
        { timestamp: 1_700_000_102, epochNumber: 1000, originChanged: false, transactions: [TX1, TX2] },
        { timestamp: 1_700_000_104, epochNumber: 1000, originChanged: false, transactions: [] },
        { timestamp: 1_700_000_106, epochNumber: 1001, originChanged: true, transactions: [TX3] },
      ],
    })
  })

  it('marks the origin of the first block as changed when it opens an epoch', () => {
    const decoded = decodeSpanBatch(encodeSpanBatch([block({ sequenceNumber: 0 })], config), config)
    expect(decoded.elements[0]?.originChanged).toBe(true)
  })

  it('ignores trailing bytes', () => {
    const bytes = encodeSpanBatch(BLOCKS, config)
    const elements = (given: Uint8Array) => decodeSpanBatch(given, config).elements
    expect(elements(concatBytes(bytes, Uint8Array.of(1, 2, 3)))).toEqual(elements(bytes))
  })

  it('keeps integers of 64 bits and a chain id above 2^63', () => {
    const wide = testConfig({}, { l2ChainId: 2n ** 63n + 11n })
    const max = 2n ** 64n - 1n
    const legacy = encodeRlp([
      max,
      1n,
      max,
      new Uint8Array(20),
      0n,
      new Uint8Array(0),
      wide.l2ChainId * 2n + 36n,
      5n,
      6n,
    ])
    const typed = concatBytes(
      Uint8Array.of(2),
      encodeRlp([wide.l2ChainId, max, 1n, 2n, max, new Uint8Array(20), 0n, new Uint8Array(0), [], 1n, 5n, 6n]),
    )
    const bytes = encodeSpanBatch([block({ transactions: [legacy, typed] })], wide)
    expect(decodeSpanBatch(bytes, wide).elements[0]?.transactions).toEqual([legacy, typed])
  })

  it.each([
    ['a deposit', Uint8Array.of(0x7e, 0xc0)],
    ['a blob transaction', Uint8Array.of(3, 0xc0)],
    ['nothing', new Uint8Array(0)],
    [
      'a protected transaction of another chain',
      encodeRlp([0, 1, 2, new Uint8Array(20), 0, new Uint8Array(0), 37, 5, 6]),
    ],
    [
      'a typed transaction of another chain',
      concatBytes(Uint8Array.of(2), encodeRlp([1, 0, 1, 2, 3, new Uint8Array(20), 0, new Uint8Array(0), [], 1, 5, 6])),
    ],
    ['bytes after a transaction', concatBytes(TX1, Uint8Array.of(0))],
    ['a truncated transaction', TX1.subarray(0, 50)],
    [
      'a type 4 transaction without recipient',
      concatBytes(
        Uint8Array.of(4),
        encodeRlp([901, 0, 1, 2, 3, new Uint8Array(0), 0, new Uint8Array(0), [], [], 1, 5, 6]),
      ),
    ],
  ])('refuses to encode %s', (_, tx) => {
    expect(() => encodeSpanBatch([block({ transactions: [tx] })], config)).toThrow(DecodeError)
  })

  it.each([
    ['no blocks', []],
    ['a gap in time', [block({}), block({ timestamp: 1_700_000_106 })]],
    ['a skipped origin', [block({}), block({ timestamp: 1_700_000_104, epochNumber: 1002 })]],
  ])('refuses to encode a span with %s', (_, blocks) => {
    expect(() => encodeSpanBatch(blocks, config)).toThrow(DeviumError)
  })

  const content = (build: (parts: ReturnType<typeof spanParts>) => Uint8Array[]) =>
    concatBytes(Uint8Array.of(1), ...build(spanParts()))
  it.each([
    ['no blocks', content((p) => [p.prefix, uvarint(0)])],
    ['more blocks than can be', content((p) => [p.prefix, uvarint(10_000_001)])],
    ['an origin bit too many', content((p) => [p.prefix, uvarint(1), Uint8Array.of(2), uvarint(0)])],
    [
      'more transactions than can be',
      content((p) => [p.prefix, uvarint(2), Uint8Array.of(0), uvarint(6_000_000), uvarint(6_000_000)]),
    ],
    ['more signatures than bytes', content((p) => [p.prefix, uvarint(1), Uint8Array.of(0), uvarint(5_000_000)])],
    ['an integer of 65 bits', content((p) => [p.head(Uint8Array.of(...new Array(9).fill(0xff), 2))])],
    ['an integer of 11 bytes', content((p) => [p.head(Uint8Array.of(...new Array(10).fill(0x80), 0))])],
    [
      'transaction data that are no list',
      content((p) => [
        p.prefix,
        uvarint(1),
        Uint8Array.of(0),
        uvarint(1),
        Uint8Array.of(1, 0),
        new Uint8Array(64),
        Uint8Array.of(2, 0x80),
        uvarint(0),
        uvarint(0),
      ]),
    ],
  ])('drops the rest of the channel at %s', (_, bytes) => {
    expect(() => runNow(readBatch(bytes))).toThrow(DecodeError)
  })

  it.each([
    ['an unknown transaction type', spanOf(3, [0, 1, 1, new Uint8Array(0), []])],
    ['a transaction with type byte 0', spanOf(0, [0, 1, new Uint8Array(0)], true)],
    ['a value with leading zeros', spanOf(2, [Uint8Array.of(0, 1), 1, 1, new Uint8Array(0), []])],
    ['an access list that is a string', spanOf(2, [0, 1, 1, new Uint8Array(0), new Uint8Array(0)])],
    ['an access list with a short address', spanOf(2, [0, 1, 1, new Uint8Array(0), [[new Uint8Array(19), []]]])],
    [
      'an access list with a short key',
      spanOf(1, [0, 1, new Uint8Array(0), [[new Uint8Array(20), [new Uint8Array(31)]]]]),
    ],
    ['a field too many', spanOf(2, [0, 1, 1, new Uint8Array(0), [], 0])],
    ['a field too few', spanOf(2, [0, 1, 1, new Uint8Array(0)])],
    ['a type 4 value above 2^256', spanOf(4, [2n ** 256n, 1, 1, new Uint8Array(0), [], []])],
    [
      'an access list entry with three members',
      spanOf(2, [0, 1, 1, new Uint8Array(0), [[new Uint8Array(20), [], []]]]),
    ],
    [
      'an authorization with seven members',
      spanOf(4, [0, 1, 1, new Uint8Array(0), [], [[1, new Uint8Array(20), 0, 0, 0, 0, 0]]]),
    ],
    [
      'an authorization with five members',
      spanOf(4, [0, 1, 1, new Uint8Array(0), [], [[1, new Uint8Array(20), 0, 0, 0]]]),
    ],
  ])('drops only the batch at %s', (_, bytes) => {
    const layout = runNow(readBatch(bytes))
    if (layout.type === 'singular') throw new Error('not a span')
    expect(() => runNow(buildSpanBatch(layout, config))).toThrow(DecodeError)
  })

  // Faults of other implementations (kona #21795, #21808, #22126, #19361). op-node's behaviour is the rule.
  it('reads integers with leading zeros, like Go', () => {
    const long = (value: number, bytes: number) =>
      Uint8Array.from({ length: bytes }, (_, i) => (i === 0 ? value : 0) | (i === bytes - 1 ? 0 : 0x80))
    const { checks } = spanParts()
    const oneByte = concatBytes(uvarint(100), uvarint(7), checks, uvarint(1), Uint8Array.of(0), uvarint(0))
    const tenBytes = concatBytes(long(100, 10), long(7, 9), checks, long(1, 3), Uint8Array.of(0), long(0, 2))
    const [expected, read] = [oneByte, tenBytes].map((bytes) => {
      const { elements, l1OriginNumber } = decodeSpanBatch(concatBytes(Uint8Array.of(1), bytes), config)
      return { elements, l1OriginNumber }
    })
    expect(read).toEqual(expected)
    expect(read?.elements).toHaveLength(1)
  })

  it.each([
    ['a type byte of 0 before a list', Uint8Array.of(0, 0xc3, 0x80, 0x80, 0x80)],
    ['a deposit', Uint8Array.of(0x7e, 0xc3, 0x80, 0x80, 0x80)],
  ])('never decodes %s as a legacy transaction', (_, data) => {
    const layout = runNow(readBatch(spanWithData(data)))
    if (layout.type === 'singular') throw new Error('not a span')
    expect(() => runNow(buildSpanBatch(layout, config))).toThrow(DecodeError)
  })

  it('checks the counts of blocks and transactions before it allocates memory', () => {
    const counts = (blocks: number, ...transactions: number[]) =>
      content((p) => [p.prefix, uvarint(blocks), new Uint8Array((blocks + 7) >>> 3), ...transactions.map(uvarint)])
    const read = (bytes: Uint8Array) => () => runNow(readBatch(bytes))
    expect(read(counts(10_000_001))).toThrow(errorWith('decode', 10_000_001))
    expect(read(counts(10_000_000))).toThrow(errorWith('decode', 'truncated'))
    expect(read(counts(2, 10_000_000, 1))).toThrow(errorWith('decode', 10_000_001))
    expect(read(counts(2, 10_000_000, 0))).toThrow(errorWith('decode', 'truncated'))
  })

  it('has at most as many transactions as its blocks', () => {
    const decoded = decodeSpanBatch(fromHex(SPAN).subarray(3), config)
    const transactions = decoded.transactionsAt(0)
    expect(transactions.length).toBeGreaterThan(0)
    expect([transactions.at(-1), transactions.at(transactions.length)]).toEqual([undefined, undefined])
  })

  it('refuses a truncated span at any position', () => {
    const whole = fromHex(SPAN).subarray(3)
    const span = whole
    expect(decodeSpanBatch(span, config).elements.length).toBeGreaterThan(0)
    for (let length = 1; length < span.length; length++) {
      expect(() => decodeSpanBatch(span.subarray(0, length), config), `${length} bytes`).toThrow(DecodeError)
    }
  })

  it('reads every transaction type with its lists', () => {
    const accessList = [[new Uint8Array(20).fill(3), [new Uint8Array(32).fill(4)]]]
    const authorizations = [[1, new Uint8Array(20).fill(5), 2, 1, 2n ** 255n, 9]]
    for (const [type, fields] of [
      [1, [0, 1, Uint8Array.of(1, 2), accessList]],
      [2, [5, 1, 2, Uint8Array.of(1, 2), accessList]],
      [4, [5, 1, 2, new Uint8Array(0), accessList, authorizations]],
    ] as const) {
      const bytes = spanOf(type, fields)
      const decoded = decodeSpanBatch(bytes, config)
      expect(decoded.elements[0]?.transactions[0]?.[0]).toBe(type)
      expect(toHex(encodeDecodedSpanBatch(decoded, config))).toBe(toHex(bytes))
    }
  })

  it('wraps origin numbers below zero to 64 bits', () => {
    const bytes = content((p) => [
      p.head(uvarint(0)),
      uvarint(1),
      p.checks,
      uvarint(3),
      Uint8Array.of(7),
      uvarint(0),
      uvarint(0),
      uvarint(0),
    ])
    expect(decodeSpanBatch(bytes, config).elements.map((element) => element.epochNumber)).toEqual([2 ** 64, 0, 1])
  })

  it('survives encoding and decoding with arbitrary transactions', () => {
    fc.assert(
      fc.property(arbitraryBlocks(config), (blocks) => {
        const bytes = encodeSpanBatch(blocks, config)
        const decoded = decodeSpanBatch(bytes, config)
        expect(decoded.elements.map(({ timestamp, epochNumber }) => [timestamp, epochNumber])).toEqual(
          blocks.map(({ timestamp, epochNumber }) => [timestamp, epochNumber]),
        )
        expect(decoded.elements.map((element) => element.transactions.map(toHex))).toEqual(
          blocks.map((value) => value.transactions.map(toHex)),
        )
        expect(toHex(encodeDecodedSpanBatch(decoded, config))).toBe(toHex(bytes))
      }),
    )
  })

  it('refuses changed and arbitrary bytes with DecodeError', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(arbitraryBlocks(config), changes, fc.nat(), (blocks, list, cut) => {
        const bytes = encodeSpanBatch(blocks, config).slice()
        for (const [at, byte] of list) bytes[1 + (at % (bytes.length - 1))] = byte
        expectDecodeErrorOrDone(() => void decodeBatch(bytes, config))
        expectDecodeErrorOrDone(() => void decodeBatch(bytes.subarray(0, 1 + (cut % bytes.length)), config))
      }),
      { numRuns: propertyRuns(300) },
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) =>
        expectDecodeErrorOrDone(() => void decodeBatch(concatBytes(Uint8Array.of(1), bytes), config)),
      ),
    )
  })

  const recording = new URL('../../../../../shared/vectors/span-batch.raw.bin', import.meta.url)
  const title = existsSync(recording) ? '' : ' (skipped: ../shared/vectors/span-batch.raw.bin is absent)'
  it.skipIf(!existsSync(recording))(`re-encodes a recorded batch to the same bytes${title}`, () => {
    const recorded = readFileSync(recording)
    // Its L1 origin number is random, and above 2^53. The encoder gets only numbers of real blocks.
    const bytes = concatBytes(Uint8Array.of(1), recorded.subarray(0, 5), uvarint(1000), recorded.subarray(15))
    const mainnet = testConfig({}, { l2ChainId: 10n })
    const decoded = decodeSpanBatch(bytes, mainnet)
    expect(decoded.elements.length).toBe(4)
    expect(decoded.elements.flatMap((element) => element.transactions).length).toBe(39)
    expect(Buffer.compare(encodeDecodedSpanBatch(decoded, mainnet), bytes)).toBe(0)
  })
})

function spanParts() {
  const checks = new Uint8Array(40).fill(9)
  const head = (relTimestamp: Uint8Array) => relTimestamp
  return { checks, head, prefix: concatBytes(uvarint(100), uvarint(1000), checks) }
}

/** A span of one block with one transaction whose data list has these fields. */
function spanOf(type: number, fields: Parameters<typeof encodeRlp>[0], isTyped = type !== 0): Uint8Array {
  return spanWithData(concatBytes(isTyped ? Uint8Array.of(type) : new Uint8Array(0), encodeRlp(fields)))
}

function spanWithData(data: Uint8Array): Uint8Array {
  const { prefix } = spanParts()
  const signature = new Uint8Array(64).fill(7)
  const columns = [
    Uint8Array.of(0),
    Uint8Array.of(1),
    signature,
    new Uint8Array(20).fill(8),
    data,
    uvarint(3),
    uvarint(21_000),
  ]
  const [first = 0] = data
  // A type byte of 0 counts as legacy here, too.
  const protectedBits = first === 0 || first >= 0xc0 ? Uint8Array.of(1) : new Uint8Array(0)
  return concatBytes(Uint8Array.of(1), prefix, uvarint(1), Uint8Array.of(1), uvarint(1), ...columns, protectedBits)
}

function uvarint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Uint8Array.of(...bytes, rest)
}
