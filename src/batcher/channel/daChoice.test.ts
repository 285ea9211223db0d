import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { loadRecordedChain } from '../testUtils/recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from '../testUtils/submitterSetup.ts'
import type { FeeSuggestion } from '../txmgr/fees.ts'
import { createChannelConfig } from './channelConfig.ts'
import { blobCost, CheapestChoice, calldataCost } from './daChoice.ts'

const { config: rollupConfig } = loadRecordedChain('holocene-span-brotli-calldata')
const configOf = (useBlobs: boolean) =>
  createChannelConfig(TEST_BATCHER_OPTIONS, rollupConfig, rollupConfig.genesis.l2Time + 100, { useBlobs })
const GWEI = 1_000_000_000n

function createChoice(answer: () => Promise<FeeSuggestion>) {
  const clock = new ManualClock()
  const l1 = { suggestFees: answer }
  const configs = { blobs: configOf(true), calldata: configOf(false) }
  const choice = new CheapestChoice({ l1, clock, logger: silentLogger }, configs, {
    minTipWei: () => GWEI,
    maxPriceAgeMs: 1_000,
  })
  return { choice, clock }
}

describe('costs', () => {
  const prices = { baseFee: 9n, tip: 1n, blobBaseFee: 2n }
  it('of calldata follow EIP-7623, with one transaction for each frame', () => {
    expect(calldataCost(1_000, 119_999, prices)).toBe((21_000n + 40_000n) * 10n)
    expect(calldataCost(240_000, 119_999, prices)).toBe((3n * 21_000n + 9_600_000n) * 10n)
  })
  it("follow Glamsterdam's gas prices if the L1 head is a Glamsterdam block", () => {
    expect(calldataCost(1_000, 119_999, { ...prices, isGlamsterdam: true })).toBe((15_000n + 64_000n) * 10n)
    expect(blobCost(1, { ...prices, isGlamsterdam: true })).toBe(131_072n * 2n + 150_000n)
  })
  it('of blobs count whole blobs, six in a transaction', () => {
    expect(blobCost(1, prices)).toBe(131_072n * 2n + 210_000n)
    expect(blobCost(130_044, prices)).toBe(2n * 131_072n * 2n + 210_000n)
    expect(blobCost(7 * 130_043, prices)).toBe(7n * 131_072n * 2n + 2n * 210_000n)
  })
})

describe('CheapestChoice', () => {
  const never = new AbortController().signal

  it('is blobs until prices are known, and stays while requests for prices fail', async () => {
    let fail = true
    const { choice, clock } = createChoice(async () => {
      if (fail) throw new Error('the L1 is away')
      return { baseFee: GWEI, tip: GWEI, blobBaseFee: 1_000n * GWEI }
    })
    await choice.refresh(never)
    expect(choice.configFor(1_000).useBlobs).toBe(true)
    fail = false
    await choice.refresh(never)
    expect(choice.configFor(1_000).useBlobs).toBe(false)
    fail = true
    await clock.advance(2_000)
    await choice.refresh(never)
    expect(choice.configFor(1_000).useBlobs).toBe(false)
  })

  it('changes if the other kind costs at most 90 % for the size of the channel', async () => {
    const prices: FeeSuggestion = { baseFee: 9n * GWEI, tip: 0n, blobBaseFee: 0n }
    const { choice, clock } = createChoice(async () => prices)
    const bytes = 100_000
    const even = calldataCost(bytes, 119_999, { ...prices, tip: GWEI }) - 21_000n * 10n * GWEI
    const at = async (percent: bigint) => {
      prices.blobBaseFee = (even * percent) / 100n / 131_072n
      await clock.advance(1_000)
      await choice.refresh(never)
      return choice.configFor(bytes).useBlobs
    }
    expect(await at(105n)).toBe(true)
    expect(await at(115n)).toBe(false)
    expect(await at(95n)).toBe(false)
    expect(await at(85n)).toBe(true)
    // A partly filled blob costs as much as a full one.
    expect(choice.configFor(500).useBlobs).toBe(false)
  })

  it('reads prices again when the clock was set back', async () => {
    const prices: FeeSuggestion = { baseFee: GWEI, tip: GWEI, blobBaseFee: 1n }
    const { choice, clock } = createChoice(async () => ({ ...prices }))
    await choice.refresh(never)
    expect(choice.configFor(100_000).useBlobs).toBe(true)
    prices.blobBaseFee = 1_000n * GWEI
    await clock.advance(-3_600_000)
    await choice.refresh(never)
    expect(choice.configFor(100_000).useBlobs).toBe(false)
  })

  it('is calldata on an L1 that has no blobs', async () => {
    const { choice } = createChoice(async () => ({ baseFee: GWEI, tip: GWEI, blobBaseFee: undefined }))
    await choice.refresh(never)
    expect(choice.configFor(1_000).useBlobs).toBe(false)
  })
})
