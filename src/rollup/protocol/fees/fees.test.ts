import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { testConfig } from '../testUtils/config.ts'
import { fastLzLength } from './fastLz.ts'
import {
  type BaseFeeParent,
  daFootprint,
  estimatedDaSize,
  fjordDataFee,
  type L1FeeParams,
  l1DataFee,
  l1FeeRulesAt,
  nextBaseFee,
  operatorFee,
} from './fees.ts'
import { encodeExtraData } from './scalars.ts'

/** An unsigned empty legacy transaction of 30 non-zero bytes. */
const EMPTY_TX = fromHex('0xdd80808094095e7baea6a6c7c4c2dfeb977efac326af552d878080808080')
const PARAMS: L1FeeParams = {
  baseFee: 1_000_000_000n,
  blobBaseFee: 10_000_000n,
  baseFeeScalar: 2,
  blobBaseFeeScalar: 3,
  overhead: 50n,
  scalar: 7_000_000n,
}

describe('fastLzLength', () => {
  it.each([
    ['nothing', new Uint8Array(0), 0],
    ['a thousand ones', new Uint8Array(1000).fill(1), 21],
    ['a thousand zeros', new Uint8Array(1000), 21],
    ['an empty transaction', EMPTY_TX, 31],
  ])('measures %s', (_, data, length) => {
    expect(fastLzLength(data)).toBe(length)
  })

  it.each([
    [40, 25, 39],
    [40, 26, 42],
    [200, 185, 204],
    [200, 186, 207],
  ])(
    'accepts no match at the last position before the tail, like op-geth: of %i bytes at %i',
    (length, place, measured) => {
      const data = Uint8Array.from({ length }, (_, index) => index).copyWithin(place, 3, 8)
      expect(fastLzLength(data)).toBe(measured)
    },
  )

  it('does not depend on earlier measurements', () => {
    const data = fc.array(fc.constantFrom(0, 1, 2, 255), { maxLength: 400 }).map((list) => Uint8Array.from(list))
    fc.assert(
      fc.property(data, data, (a, b) => {
        const alone = plainFastLzLength(a)
        expect(fastLzLength(a)).toBe(alone)
        fastLzLength(b)
        expect(fastLzLength(a)).toBe(alone)
      }),
    )
  })

  it('agrees with the plain algorithm on data that repeats near its end', () => {
    const copy = fc.record({ from: fc.nat(60), length: fc.integer({ min: 3, max: 20 }), beforeEnd: fc.nat(30) })
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 80, maxLength: 120 }),
        fc.array(copy, { maxLength: 4 }),
        (data, copies) => {
          for (const { from, length, beforeEnd } of copies) {
            data.copyWithin(data.length - beforeEnd, from, from + length)
          }
          expect(fastLzLength(data)).toBe(plainFastLzLength(data))
        },
      ),
    )
  })

  it('agrees with the plain algorithm on long and on random data', () => {
    const random = Uint8Array.from(
      { length: 60_000 },
      (_, i) => (Math.imul(i, 2_654_435_761) >>> 24) & (i % 5 === 0 ? 1 : 255),
    )
    for (const length of [11, 12, 13, 14, 15, 100, 8192, 9000, 60_000]) {
      expect(fastLzLength(random.subarray(0, length))).toBe(plainFastLzLength(random.subarray(0, length)))
    }
  })
})

describe('L1 data fee', () => {
  it.each([
    ['bedrock', 11_326_000_000_000n, 1618n],
    ['regolith', 3_710_000_000_000n, 530n],
    ['ecotone', 960_900n, 480n],
    ['fjord', 3_203_000n, 1600n],
  ] as const)('follows the %s formula', (rules, fee, gasUsed) => {
    expect(l1DataFee(EMPTY_TX, rules, PARAMS)).toEqual({ fee, gasUsed })
  })

  it('has a minimum up to 170 FastLZ bytes', () => {
    expect(estimatedDaSize(170)).toBe(100)
    expect(fjordDataFee(170, PARAMS)).toEqual(fjordDataFee(0, PARAMS))
    expect(fjordDataFee(171, PARAMS).fee).toBeGreaterThan(fjordDataFee(170, PARAMS).fee)
    expect(daFootprint(EMPTY_TX, 400)).toBe(40_000n)
  })

  it('changes its rules with the forks, but not in the first Ecotone block', () => {
    const config = testConfig({ regolith: 10, ecotone: 20, fjord: 30 })
    expect([5, 10, 20, 30].map((time) => l1FeeRulesAt(config, time, PARAMS))).toEqual([
      'bedrock',
      'regolith',
      'ecotone',
      'fjord',
    ])
    const unset = { ...PARAMS, blobBaseFee: 0n, baseFeeScalar: 0, blobBaseFeeScalar: 0 }
    expect(l1FeeRulesAt(config, 20, unset)).toBe('regolith')
    expect(l1FeeRulesAt(config, 30, unset)).toBe('regolith')
    for (const set of [{ blobBaseFee: 1n }, { baseFeeScalar: 1 }, { blobBaseFeeScalar: 1 }]) {
      expect(l1FeeRulesAt(config, 30, { ...unset, ...set })).toBe('fjord')
    }
  })

  it('counts a zero byte as a quarter of another byte', () => {
    const transaction = Uint8Array.of(0, 0, 1)
    expect(l1DataFee(transaction, 'ecotone', PARAMS).gasUsed).toBe(24n)
    expect(l1DataFee(transaction, 'regolith', PARAMS).gasUsed).toBe(74n)
    const { overhead: _, scalar: __, ...bare } = PARAMS
    expect(l1DataFee(transaction, 'regolith', bare)).toEqual({
      fee: 0n,
      gasUsed: 24n,
    })
  })
})

it('operator fee scales with gas and adds its constant', () => {
  const fee = { scalar: 1_439_103_868, constant: 1_256_417_826_609_331_460n }
  expect(operatorFee(1_000_000n, { ...fee, jovian: false })).toBe(1_439_103_868n + 1_256_417_826_609_331_460n)
  expect(operatorFee(10n, { ...fee, jovian: true })).toBe(1_439_103_868_000n + 1_256_417_826_609_331_460n)
  expect(operatorFee(999n, { scalar: 1000, constant: 0n, jovian: false })).toBe(0n)
})

describe('next base fee', () => {
  const parent = (overrides: Partial<BaseFeeParent> = {}): BaseFeeParent => ({
    timestamp: 100,
    baseFeePerGas: 1_000_000_000n,
    gasLimit: 30_000_000n,
    gasUsed: 5_000_000n,
    extraData: '0x',
    ...overrides,
  })

  it.each([
    [10_000_000n, 1_020_000_000n, 1_004_000_000n],
    [1_000_000n, 984_000_000n, 996_800_000n],
    [5_000_000n, 1_000_000_000n, 1_000_000_000n],
  ])('after %i gas follows the denominator of the new block', (gasUsed, before, canyon) => {
    expect(nextBaseFee(testConfig(), parent({ gasUsed }), 102)).toBe(before)
    expect(nextBaseFee(testConfig({ canyon: 102 }), parent({ gasUsed }), 102)).toBe(canyon)
  })

  it('uses the parameters in the header of a Holocene parent', () => {
    const extraData = '0x000000000800000002' as const
    const full = parent({ gasUsed: 30_000_000n, extraData })
    expect(nextBaseFee(testConfig({ holocene: 0 }), full, 102)).toBe(1_125_000_000n)
    // The parent of the first Holocene block has no parameters.
    expect(nextBaseFee(testConfig({ canyon: 0, holocene: 102 }), parent({ gasUsed: 10_000_000n }), 102)).toBe(
      1_004_000_000n,
    )
    expect(() => nextBaseFee(testConfig({ holocene: 0 }), parent(), 102)).toThrow(errorWith('decode', 'extraData', 9))
  })

  it('includes the DA footprint, and applies the minimum of a Jovian parent', () => {
    const config = testConfig({ jovian: 0 })
    const extraData = encodeExtraData({ denominator: 8, elasticity: 2, minBaseFee: 999_000_000n })
    const byGas = nextBaseFee(config, parent({ gasUsed: 30_000_000n, extraData }), 102)
    expect(byGas).toBe(1_125_000_000n)
    expect(nextBaseFee(config, parent({ gasUsed: 0n, blobGasUsed: 30_000_000n, extraData }), 102)).toBe(byGas)
    expect(nextBaseFee(config, parent({ gasUsed: 0n, blobGasUsed: 0n, extraData }), 102)).toBe(999_000_000n)
  })

  it('rises by at least 1 wei and does not fall below 0', () => {
    expect(nextBaseFee(testConfig(), parent({ baseFeePerGas: 7n, gasUsed: 5_000_001n }), 102)).toBe(8n)
    expect(nextBaseFee(testConfig(), parent({ baseFeePerGas: 0n, gasUsed: 0n }), 102)).toBe(0n)
    // With a denominator of 1 the base fee may fall by its whole value.
    const config = testConfig({ holocene: 0 })
    const extraData = encodeExtraData({ denominator: 1, elasticity: 2 })
    expect(nextBaseFee(config, parent({ gasUsed: 0n, extraData }), 102)).toBe(0n)
  })

  it('does not change if a limit below the elasticity leaves no target and no gas was used', () => {
    expect(nextBaseFee(testConfig(), parent({ gasLimit: 5n, gasUsed: 0n }), 102)).toBe(1_000_000_000n)
    expect(() => nextBaseFee(testConfig(), parent({ gasLimit: 5n, gasUsed: 1n }), 102)).toThrow(RangeError)
  })

  it('uses the constants of the chain', () => {
    const chainOpConfig = { eip1559Elasticity: 10, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 }
    const config = testConfig({ canyon: 0 }, { chainOpConfig })
    expect(nextBaseFee(config, parent({ gasUsed: 6_000_000n }), 102)).toBe(1_004_000_000n)
  })
})

/** The same measure with a new table, close to the specification's code. */
function plainFastLzLength(data: Uint8Array): number {
  const table = new Array<number>(8192).fill(0)
  const u24 = (i: number) => (data[i] ?? 0) | ((data[i + 1] ?? 0) << 8) | ((data[i + 2] ?? 0) << 16)
  const hash = (v: number) => Number(((2_654_435_769n * BigInt(v)) % 2n ** 32n) >> 19n) & 8191
  const literals = (r: number) => 33 * Math.floor(r / 32) + (r % 32 === 0 ? 0 : (r % 32) + 1)
  const limit = data.length < 13 ? 0 : data.length - 13
  let [n, a, p] = [0, 0, 2]
  while (p < limit) {
    let ref = 0
    for (;;) {
      const v = u24(p)
      ref = table[hash(v)] ?? 0
      table[hash(v)] = p
      const d = p - ref
      if (p >= limit) return n + literals(data.length - a)
      p++
      if (d <= 8191 && v === u24(ref)) break
    }
    if (p >= limit) break
    p--
    if (p > a) n += literals(p - a)
    let m = 0
    while (p + 3 + m < limit + 9) {
      m++
      if (data[ref + 2 + m] !== data[p + 2 + m]) break
    }
    const q = m - 1
    n += 3 * Math.floor(q / 262) + (q % 262 >= 6 ? 3 : 2)
    p += m
    table[hash(u24(p))] = p++
    table[hash(u24(p))] = p++
    a = p
  }
  return n + literals(data.length - a)
}
