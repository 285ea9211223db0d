import { describe, expect, it } from 'vitest'
import type { BatcherOptions } from '../submitter/options.ts'
import { loadRecordedChain } from '../testUtils/recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from '../testUtils/submitterSetup.ts'
import { createChannelConfig, framesInTime } from './channelConfig.ts'

const { config: rollupConfig } = loadRecordedChain('holocene-span-brotli-calldata')

function configOf(options: Partial<BatcherOptions>) {
  return createChannelConfig({ ...TEST_BATCHER_OPTIONS, ...options }, rollupConfig, rollupConfig.genesis.l2Time + 100)
}

describe('channels that cannot be on L1 in time', () => {
  it('are refused at the start with the numbers', () => {
    const options = { numConfirmations: 39, subSafetyMargin: 10, targetNumFrames: 17 }
    expect(() => configOf(options)).toThrow(
      '--target-num-frames 17 cannot be on L1 before a channel times out: with --num-confirmations 39 and 16 transactions at a time at most 16 frames can within 40 L1 blocks (channel timeout 50 less --sub-safety-margin 10)',
    )
    expect(configOf({ ...options, numConfirmations: 38 }).targetNumFrames).toBe(17)
    expect(configOf({ ...options, maxPendingTx: 17 }).txsInFlight).toBe(17)
    expect(configOf({ ...options, maxPendingTx: 0 }).txsInFlight).toBe(Number.POSITIVE_INFINITY)
  })

  it('are told by the groups of frames that can be confirmed one after the other', () => {
    const sending = { channelTimeout: 50, txsInFlight: 16, useBlobs: false }
    expect(framesInTime({ ...sending, numConfirmations: 10 })).toBe(5 * 16)
    expect(framesInTime({ ...sending, numConfirmations: 49 })).toBe(16)
    expect(framesInTime({ ...sending, numConfirmations: 1 })).toBe(25 * 16)
    expect(framesInTime({ ...sending, numConfirmations: 10, useBlobs: true })).toBe(5 * 16 * 6)
  })
})
