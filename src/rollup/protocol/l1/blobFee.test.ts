import { describe, expect, it } from 'vitest'
import { testConfig } from '../testUtils/config.ts'
import { blobBaseFee, blobUpdateFraction, changesBlobsAt, hasKnownBlobSchedule, l1BlobBaseFee } from './blobFee.ts'

const CANCUN = 3_338_477n
const PRAGUE = 5_007_716n
const BPO1 = 8_346_193n
const BPO2 = 11_684_671n

describe('the blob schedule of an L1', () => {
  it.each([
    ['Mainnet', 1n, [1_746_612_311, 1_765_290_071, 1_767_747_671]],
    ['Sepolia', 11_155_111n, [1_741_159_776, 1_761_017_184, 1_761_607_008]],
    ['Hoodi', 560_048n, [1_742_999_832, 1_762_365_720, 1_762_955_544]],
  ] as const)('of %s changes with its forks', (_, l1ChainId, times) => {
    const config = testConfig({}, { l1ChainId })
    expect(times.map((time) => blobUpdateFraction(config, time - 1))).toEqual([CANCUN, PRAGUE, BPO1])
    expect(times.map((time) => blobUpdateFraction(config, time))).toEqual([PRAGUE, BPO1, BPO2])
    expect(times.map((time) => changesBlobsAt(config, time))).toEqual([true, true, true])
    expect(times.map((time) => changesBlobsAt(config, time + 1))).toEqual([false, false, false])
    expect(hasKnownBlobSchedule(l1ChainId)).toBe(true)
  })

  it("of an unknown L1 is Cancun's", () => {
    const config = testConfig()
    expect(hasKnownBlobSchedule(config.l1ChainId)).toBe(false)
    expect(blobUpdateFraction(config, 2_000_000_000)).toBe(CANCUN)
  })

  it('comes from the rollup config if it has one, even on a public network', () => {
    const l1BlobSchedule = [{ time: 100, updateFraction: 5n }]
    for (const l1ChainId of [1n, 900n]) {
      const config = testConfig({}, { l1ChainId, l1BlobSchedule })
      expect([99, 100].map((time) => blobUpdateFraction(config, time))).toEqual([CANCUN, 5n])
      expect([99, 100].map((time) => changesBlobsAt(config, time))).toEqual([false, true])
    }
  })

  it("is Cancun's until the time in the rollup config", () => {
    const config = testConfig({}, { l1ChainId: 11_155_111n, pectraBlobScheduleTime: 1_742_486_400 })
    expect([1_742_486_399, 1_742_486_400].map((time) => blobUpdateFraction(config, time))).toEqual([CANCUN, PRAGUE])
  })
})

describe('the blob base fee', () => {
  // EIP-4844's fake_exponential: e^(excess / fraction), rounded down.
  it.each([
    [0n, CANCUN, 1n],
    [2_314_057n, CANCUN, 1n],
    [2_314_058n, CANCUN, 2n],
    [10n * 1024n * 1024n, CANCUN, 23n],
    [CANCUN * 10n, CANCUN, 22_026n],
  ])('of %d at %d is %d', (excess, fraction, fee) => {
    expect(blobBaseFee(excess, fraction)).toBe(fee)
  })

  it('of an L1 block depends on its time, and is 1 before blobs existed', () => {
    const config = testConfig({}, { l1ChainId: 1n })
    expect(l1BlobBaseFee(config, { timestamp: 1_746_612_310, excessBlobGas: CANCUN * 10n })).toBe(22_026n)
    expect(l1BlobBaseFee(config, { timestamp: 1_746_612_311, excessBlobGas: PRAGUE * 10n })).toBe(22_026n)
    expect(l1BlobBaseFee(config, { timestamp: 1_746_612_311 })).toBe(1n)
  })
})
