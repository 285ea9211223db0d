import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { FORKS, type RollupConfig } from '../../rollup/protocol/types.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import { loadRecordedChain } from '../testUtils/recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from '../testUtils/submitterSetup.ts'
import { createChannelConfig, framesInTime } from './channelConfig.ts'

const { config: holocene } = loadRecordedChain('holocene-span-brotli-calldata')

function configOf(options: Partial<BatcherOptions>, rollupConfig = holocene) {
  return createChannelConfig({ ...TEST_BATCHER_OPTIONS, ...options }, rollupConfig, rollupConfig.genesis.l2Time + 100)
}

/** The chain's config up to a fork. The fork is never active, or from this time on. */
function withFork(fork: 'delta' | 'ecotone' | 'fjord' | 'granite', at?: number): RollupConfig {
  const before = FORKS.slice(0, FORKS.indexOf(fork)).map((name) => [name, holocene.forks[name]] as const)
  return { ...holocene, forks: { ...Object.fromEntries(before), ...(at === undefined ? {} : { [fork]: at }) } }
}

describe('createChannelConfig', () => {
  it.each([
    ['ecotone', { dataAvailability: 'blobs' }, { dataAvailability: 'calldata' }, '--data-availability-type'],
    ['fjord', { compressionAlgorithm: 'brotli' }, { compressionAlgorithm: 'zlib' }, '--compression-algo'],
    ['delta', { batchType: 'span' }, { batchType: 'singular' }, '--batch-type'],
  ] as const)('refuses options that need %s before that fork', (fork, refused, taken, flag) => {
    const plain = { dataAvailability: 'calldata', compressionAlgorithm: 'zlib', batchType: 'singular' } as const
    expect(() => configOf({ ...plain, ...refused }, withFork(fork))).toThrow(errorWith('usage', flag))
    expect(() => configOf({ ...plain, ...taken }, withFork(fork))).not.toThrow()
    expect(() => configOf({ ...plain, ...refused })).not.toThrow()
  })

  it('refuses a safety margin that is longer than the channel timeout', () => {
    const sending = { numConfirmations: 1, targetNumFrames: 1 }
    expect(() => configOf({ ...sending, subSafetyMargin: 51 })).toThrow(
      errorWith('usage', '--sub-safety-margin', 50, 51),
    )
    // The next wrong option.
    expect(() => configOf({ ...sending, subSafetyMargin: 50 })).toThrow(errorWith('usage', '--target-num-frames', 0))
  })

  it("limits frames to derivation's limit, and uses the channel timeout of a scheduled Granite", () => {
    expect(configOf({ dataAvailability: 'calldata', maxL1TxSizeBytes: 2_000_000 }).maxFrameBytes).toBe(1_000_000 + 23)
    expect(configOf({ dataAvailability: 'calldata', maxL1TxSizeBytes: 120_000 }).maxFrameBytes).toBe(119_999)
    expect(configOf({}, withFork('granite')).channelTimeout).toBe(holocene.channelTimeout)
    expect(configOf({}, withFork('granite', holocene.genesis.l2Time + 10_000)).channelTimeout).toBe(50)
  })
})

describe('frames that reach L1 before the channel times out', () => {
  it('refuses more target frames than can reach L1 in time, and names the numbers', () => {
    const options = { numConfirmations: 39, subSafetyMargin: 10, targetNumFrames: 17 }
    expect(() => configOf(options)).toThrow(
      errorWith('usage', '--target-num-frames', 17, 16, 40, 50, '--sub-safety-margin', 10, '--num-confirmations', 39),
    )
    expect(configOf({ ...options, numConfirmations: 38 }).targetNumFrames).toBe(17)
    expect(configOf({ ...options, maxPendingTx: 17 }).txsInFlight).toBe(17)
    expect(configOf({ ...options, maxPendingTx: 0 }).txsInFlight).toBe(Number.POSITIVE_INFINITY)
  })

  it('are computed from the groups of frames that can be confirmed one after another', () => {
    const sending = { channelTimeout: 50, txsInFlight: 16, useBlobs: false }
    expect(framesInTime({ ...sending, numConfirmations: 10 })).toBe(5 * 16)
    expect(framesInTime({ ...sending, numConfirmations: 49 })).toBe(16)
    expect(framesInTime({ ...sending, numConfirmations: 1 })).toBe(25 * 16)
    expect(framesInTime({ ...sending, numConfirmations: 10, useBlobs: true })).toBe(5 * 16 * 6)
  })
})
