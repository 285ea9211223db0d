import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import {
  decodeExtraData,
  decodeOperatorFeeParams,
  decodeScalar,
  encodeExtraData,
  encodeScalar,
} from '../fees/scalars.ts'
import { testConfig } from '../testUtils/config.ts'
import { EMPTY_PAYLOAD } from '../testUtils/payload.ts'
import { encodeDepositTx } from '../transaction/deposit.ts'
import { type ExecutionPayload, type L1BlockInfo, type L1Log, type SystemConfig, ZERO_HASH } from '../types.ts'
import { l1InfoDepositTx } from './l1Info.ts'
import {
  applySystemConfigUpdate,
  applySystemConfigUpdates,
  CONFIG_UPDATE_TOPIC,
  systemConfigFromPayload,
} from './systemConfig.ts'

const config = testConfig({ ecotone: 1000 })
const before = config.genesis.systemConfig
const word = (value: bigint) => bigIntToBytes(value, 32)
const hexWord = (value: bigint) => toHex(word(value))

function updateLog(type: number, ...words: Uint8Array[]): L1Log {
  return {
    address: config.l1SystemConfigAddress,
    topics: [CONFIG_UPDATE_TOPIC, ZERO_HASH, hexWord(BigInt(type))],
    data: concatBytes(word(32n), word(BigInt(words.length * 32)), ...words),
    logIndex: 0,
  }
}
const apply = (log: L1Log, l1Time = 0) => applySystemConfigUpdate(before, log, config, l1Time)
const V1_SCALAR = fromHex('0x010000000000000000000000000000000000000000000000000c5fc500000558')

describe('system config updates', () => {
  it.each([
    ['batcher', updateLog(0, word(0xabcdn)), { batcherAddress: `0x${'abcd'.padStart(40, '0')}` }],
    ['gas limit', updateLog(2, word(50_000_000n)), { gasLimit: 50_000_000n }],
    ['unsafe block signer', updateLog(3, word(1n)), {}],
    ['EIP-1559 parameters', updateLog(4, word(0xfa_0000_0006n)), { eip1559Params: '0x000000fa00000006' }],
    ['EIP-1559 parameters of zero', updateLog(4, word(0n)), { eip1559Params: '0x0000000000000000' }],
    [
      'operator fee',
      updateLog(5, word(0xabcd_0000_0000_0000_dcban)),
      { operatorFeeParams: hexWord(0xabcd_0000_0000_0000_dcban) },
    ],
    ['minimum base fee', updateLog(6, word(7n)), { minBaseFee: 7n }],
    ['DA footprint scalar', updateLog(7, word(500n)), { daFootprintGasScalar: 500 }],
  ])('apply a new %s', (_, log, change) => {
    expect(apply(log)).toEqual({ ...before, ...change })
  })

  it('apply fee scalars by the rules of the L1 time', () => {
    const log = (scalar: Uint8Array) => updateLog(1, word(9n), scalar)
    expect(apply(log(word(5n)), 999)).toEqual({ ...before, overhead: hexWord(9n), scalar: hexWord(5n) })
    expect(apply(log(V1_SCALAR), 1000)).toEqual({ ...before, overhead: ZERO_HASH, scalar: toHex(V1_SCALAR) })
    expect(apply(log(word(684_000n)), 1000)).toEqual({ ...before, overhead: ZERO_HASH, scalar: hexWord(684_000n) })
    for (const invalid of [word(2n ** 249n), word(2n ** 32n), word(2n ** 248n + 2n ** 64n)]) {
      expect(apply(log(invalid), 1000)).toBe(before)
    }
  })

  it('ignore only EIP-1559 parameters with a zero denominator', () => {
    expect(apply(updateLog(4, word(6n)))).toBe(before)
  })

  const good = updateLog(2, word(1n))
  it.each([
    ['a missing topic', { ...good, topics: good.topics.slice(0, 2) }],
    ['a topic too many', { ...good, topics: [...good.topics, ZERO_HASH] }],
    ['a word behind its data', { ...good, data: concatBytes(good.data, word(0n)) }],
    ['another version', { ...good, topics: [CONFIG_UPDATE_TOPIC, hexWord(1n), hexWord(2n)] }],
    ['an unknown type', updateLog(8, word(1n))],
    ['a type above 2^53', { ...good, topics: [CONFIG_UPDATE_TOPIC, ZERO_HASH, hexWord(2n ** 200n)] }],
    ['a word too many', updateLog(2, word(1n), word(1n))],
    ['a word too few', updateLog(1, word(1n))],
    ['an offset other than 32', { ...good, data: concatBytes(word(64n), good.data.subarray(32)) }],
    ['a length other than its data', { ...good, data: concatBytes(word(32n), word(31n), word(1n)) }],
    ['a gas limit above u64', updateLog(2, word(2n ** 64n))],
    ['an address above 20 bytes', updateLog(0, word(2n ** 160n))],
    ['a DA scalar above u16', updateLog(7, word(2n ** 16n))],
  ] as [string, L1Log][])('are malformed with %s', (_, log) => {
    expect(() => apply(log)).toThrow(DecodeError)
  })

  it('skip malformed logs individually, failed transactions, and other contracts', () => {
    const receipt = (status: boolean, ...logs: L1Log[]) => ({ transactionHash: ZERO_HASH, status, logs })
    const receipts = [
      receipt(true, updateLog(8, word(1n)), updateLog(2, word(3n)), updateLog(0, word(2n ** 160n))),
      receipt(false, updateLog(2, word(4n))),
      receipt(true, { ...updateLog(2, word(5n)), address: ZERO_HASH.slice(0, 42) as Hex }, { ...good, topics: [] }),
      receipt(true, updateLog(6, word(8n))),
      receipt(true, { ...updateLog(2, word(6n)), topics: [ZERO_HASH, ZERO_HASH, hexWord(2n)] }),
    ]
    expect(applySystemConfigUpdates(before, receipts, config, 0)).toEqual({ ...before, gasLimit: 3n, minBaseFee: 8n })
    expect(applySystemConfigUpdates(before, [], config, 0)).toBe(before)
  })
})

describe('packed fields', () => {
  it('read both versions of the scalar', () => {
    expect(decodeScalar(toHex(V1_SCALAR))).toEqual({ baseFeeScalar: 1368, blobBaseFeeScalar: 810_949 })
    expect(encodeScalar({ baseFeeScalar: 1368, blobBaseFeeScalar: 810_949 })).toBe(toHex(V1_SCALAR))
    expect(decodeScalar(hexWord(684_000n))).toEqual({ baseFeeScalar: 684_000, blobBaseFeeScalar: 0 })
    expect(decodeScalar(hexWord(2n ** 40n))).toEqual({ baseFeeScalar: 2 ** 32 - 1, blobBaseFeeScalar: 0 })
    expect(() => decodeScalar(hexWord(2n ** 249n))).toThrow(DecodeError)
  })

  it('read and write extraData', () => {
    const holocene = { denominator: 250, elasticity: 6 }
    expect(encodeExtraData(holocene)).toBe('0x00000000fa00000006')
    expect(decodeExtraData('0x00000000fa00000006', 'holocene')).toEqual(holocene)
    const jovian = { ...holocene, minBaseFee: 2n ** 64n - 1n }
    expect(encodeExtraData(jovian)).toBe('0x01000000fa00000006ffffffffffffffff')
    expect(decodeExtraData('0x01000000fa00000006ffffffffffffffff', 'jovian')).toEqual(jovian)
    for (const [extraData, fork] of [
      ['0x', 'holocene'],
      ['0x01000000fa00000006', 'holocene'],
      ['0x000000000000000006', 'holocene'],
      ['0x00000000fa00000000', 'holocene'],
      ['0x00000000fa00000006', 'jovian'],
      ['0x00000000fa000000060000000000000001', 'jovian'],
    ] as const) {
      expect(() => decodeExtraData(extraData, fork)).toThrow(DecodeError)
    }
  })

  it('read absent operator fee parameters as zero', () => {
    expect(decodeOperatorFeeParams(undefined)).toEqual({ scalar: 0, constant: 0n })
  })
})

describe('system config of an L2 block', () => {
  const l1Block: L1BlockInfo = {
    hash: `0x${'11'.repeat(32)}`,
    number: 1000,
    parentHash: ZERO_HASH,
    timestamp: 1_700_000_000,
    mixHash: ZERO_HASH,
    baseFeePerGas: 7n,
    excessBlobGas: 0n,
  }
  const payload = (
    system: SystemConfig,
    forks: Parameters<typeof testConfig>[0],
    extraData: Hex,
  ): ExecutionPayload => ({
    ...EMPTY_PAYLOAD,
    blockNumber: 5,
    gasLimit: system.gasLimit,
    timestamp: 1_700_000_010,
    extraData,
    baseFeePerGas: 0n,
    blockHash: `0x${'55'.repeat(32)}`,
    transactions: [encodeDepositTx(l1InfoDepositTx(testConfig(forks), system, 3, l1Block, 1_700_000_010))],
  })

  it.each([
    ['bedrock', {}, '0x', before],
    ['ecotone', { ecotone: 0 }, '0x', { ...before, overhead: ZERO_HASH, scalar: toHex(V1_SCALAR) }],
    [
      'holocene',
      { holocene: 0 },
      '0x00000000fa00000006',
      { ...before, overhead: ZERO_HASH, scalar: toHex(V1_SCALAR), eip1559Params: '0x000000fa00000006' },
    ],
    [
      'jovian',
      { jovian: 0 },
      '0x01000000fa000000060000000000000009',
      {
        ...before,
        overhead: ZERO_HASH,
        scalar: toHex(V1_SCALAR),
        eip1559Params: '0x000000fa00000006',
        operatorFeeParams: hexWord(0xabcd_0000_0000_0000_dcban),
        minBaseFee: 9n,
        daFootprintGasScalar: 500,
      },
    ],
  ] as [string, Parameters<typeof testConfig>[0], Hex, SystemConfig][])(
    'is read under %s',
    (_, forks, extraData, system) => {
      expect(systemConfigFromPayload(payload(system, forks, extraData), testConfig(forks))).toEqual(system)
    },
  )

  it('of genesis is the configured one', () => {
    const genesis = {
      ...payload(before, {}, '0x'),
      blockNumber: 0,
      blockHash: config.genesis.l2.hash,
      transactions: [],
    }
    expect(systemConfigFromPayload(genesis, config)).toBe(before)
    expect(() => systemConfigFromPayload({ ...genesis, blockHash: ZERO_HASH }, config)).toThrow(DecodeError)
  })

  it("excludes the gas that Karst's activation block adds to the limit, unless the chain keeps it", () => {
    const forks = { jovian: 0, karst: 1_700_000_010 }
    const block = { ...payload(before, forks, '0x01000000fa000000060000000000000009'), gasLimit: 85_370_657n }
    const gasLimit = (overrides: Parameters<typeof testConfig>[1], karst = forks.karst) =>
      systemConfigFromPayload(block, testConfig({ ...forks, karst }, overrides)).gasLimit
    expect(gasLimit({})).toBe(30_000_000n)
    expect(gasLimit({ keepKarstUpgradeGas: true })).toBe(85_370_657n)
    expect(gasLimit({}, 1_700_000_008)).toBe(85_370_657n)
    const least = { ...block, gasLimit: 55_370_657n }
    expect(systemConfigFromPayload(least, testConfig(forks)).gasLimit).toBe(0n)
    const low = { ...block, gasLimit: 55_370_656n }
    expect(() => systemConfigFromPayload(low, testConfig(forks))).toThrow(DecodeError)
  })

  it('requires extraData of its fork', () => {
    const forks = { holocene: 0 }
    expect(() => systemConfigFromPayload(payload(before, forks, '0x'), testConfig(forks))).toThrow(DecodeError)
  })
})

it('arbitrary logs throw only DecodeError', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8 }), fc.uint8Array({ maxLength: 160 }), (type, data) => {
      expectDecodeErrorOrDone(() => apply({ ...updateLog(type), data }))
    }),
  )
})
