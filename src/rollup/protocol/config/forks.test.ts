import { describe, expect, it } from 'vitest'
import { blobBaseFee, l1BlobBaseFee } from '../l1/blobFee.ts'
import { computeOutputRoot } from '../payload/outputRoot.ts'
import { testConfig } from '../testUtils/config.ts'
import {
  channelTimeout,
  isForkActivationBlock,
  isForkActive,
  l2BlockNumberAt,
  l2BlockTime,
  maxChannelBankSize,
  maxRlpBytesPerChannel,
  maxSequencerDrift,
} from './forks.ts'

const GENESIS_TIME = 1_700_000_000

describe('forks', () => {
  it('are active from their time, and with every later fork', () => {
    const config = testConfig({ canyon: 100, fjord: 200 })
    expect([99, 100].map((time) => isForkActive(config, 'canyon', time))).toEqual([false, true])
    expect([199, 200].map((time) => isForkActive(config, 'ecotone', time))).toEqual([false, true])
    expect(isForkActive(config, 'granite', 1e9)).toBe(false)
  })

  it('have one activation block', () => {
    const at = GENESIS_TIME + 5
    const config = testConfig({ regolith: GENESIS_TIME, canyon: 0, ecotone: at })
    const blocks = [4, 6, 8].map((offset) => isForkActivationBlock(config, 'ecotone', GENESIS_TIME + offset))
    expect(blocks).toEqual([false, true, false])
    expect(isForkActivationBlock(config, 'regolith', GENESIS_TIME + 2)).toBe(false)
    expect(isForkActivationBlock(config, 'canyon', GENESIS_TIME + 2)).toBe(false)
  })

  it('change the limits of channels and of sequencing', () => {
    const config = testConfig({ fjord: 100, granite: 200 })
    expect([99, 100].map((time) => maxSequencerDrift(config, time))).toEqual([600, 1800])
    expect([99, 100].map((time) => maxRlpBytesPerChannel(config, time))).toEqual([10_000_000, 100_000_000])
    expect([99, 100].map((time) => maxChannelBankSize(config, time))).toEqual([100_000_000, 1_000_000_000])
    expect([199, 200].map((time) => channelTimeout(config, time))).toEqual([300, 50])
  })
})

it('block numbers and times are converted into each other', () => {
  const config = testConfig()
  config.genesis.l2.number = 10
  expect(l2BlockTime(config, 13)).toBe(GENESIS_TIME + 6)
  expect([5, 6, 7].map((offset) => l2BlockNumberAt(config, GENESIS_TIME + offset))).toEqual([12, 13, 13])
  expect(l2BlockNumberAt(config, GENESIS_TIME)).toBe(10)
  expect(() => l2BlockNumberAt(config, GENESIS_TIME - 1)).toThrow(expect.objectContaining({ code: 'before-genesis' }))
})

describe('blob base fee', () => {
  // Values of the EIP-4844 test vectors for fake_exponential with Cancun's fraction.
  it.each([
    [0n, 1n],
    [2_314_057n, 1n],
    [2_314_058n, 2n],
    [10 * 1024 * 1024, 23n],
  ])('of excess %s is %s', (excess, fee) => {
    expect(blobBaseFee(BigInt(excess), 3_338_477n)).toBe(fee)
  })

  it('follows the blob schedule of L1', () => {
    const block = (timestamp: number) => ({ timestamp, excessBlobGas: 50_000_000n })
    const mainnet = testConfig({}, { l1ChainId: 1n })
    const at = (fraction: bigint) => blobBaseFee(50_000_000n, fraction)
    expect(l1BlobBaseFee(mainnet, block(1_746_612_310))).toBe(at(3_338_477n))
    expect(l1BlobBaseFee(mainnet, block(1_746_612_311))).toBe(at(5_007_716n))
    expect(l1BlobBaseFee(mainnet, block(1_767_747_671))).toBe(at(11_684_671n))
    expect(l1BlobBaseFee({ ...mainnet, pectraBlobScheduleTime: 2e9 }, block(1_767_747_671))).toBe(at(3_338_477n))
    expect(l1BlobBaseFee(testConfig(), block(2e9))).toBe(at(3_338_477n))
    const own = testConfig({}, { l1BlobSchedule: [{ time: 5, updateFraction: 7_000_000n }] })
    expect(l1BlobBaseFee(own, block(5))).toBe(at(7_000_000n))
    expect(l1BlobBaseFee(mainnet, { timestamp: 2e9 })).toBe(1n)
  })
})

it('output root is the specified hash', () => {
  const parts = {
    stateRoot: `0x${'11'.repeat(32)}`,
    messagePasserStorageRoot: `0x${'22'.repeat(32)}`,
    blockHash: `0x${'33'.repeat(32)}`,
  } as const
  expect(computeOutputRoot(parts)).toBe('0xd50bf2ff34ced71be0d2f0be7c2433c6b39d9c3b16c95daf1ed6f24b7578a3b2')
})
