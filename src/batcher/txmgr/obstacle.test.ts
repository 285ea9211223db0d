import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { obstacleOf, replacementOf } from './obstacle.ts'
import type { L1Tx } from './transaction.ts'

const TX: L1Tx = {
  chainId: 1n,
  nonce: 3,
  fees: { tip: 1_000n, feeCap: 10_000_000_000n },
  gasLimit: 100_000n,
  to: `0x${'11'.repeat(20)}`,
  data: new Uint8Array(4),
}
const BLOB_TX: L1Tx = {
  ...TX,
  fees: { ...TX.fees, blobFeeCap: 5_000_000_000n },
  blobHashes: [`0x${'01'.repeat(32)}`],
}

describe('obstacleOf', () => {
  it.each([
    ['a block that holds just its gas limit', TX, { baseFee: 0n, blockGasLimit: 100_000n }, undefined],
    ['just enough gas', TX, { baseFee: 0n }, 100_000n],
    ['a base fee at its fee cap', TX, { baseFee: 10_000_000_000n }, undefined],
    ['a blob base fee at its fee cap', BLOB_TX, { baseFee: 0n, blobBaseFee: 5_000_000_000n }, undefined],
    ['a blob base fee, without blobs', TX, { baseFee: 0n, blobBaseFee: 2n ** 64n }, undefined],
    ['an L1 without blobs', BLOB_TX, { baseFee: 0n }, undefined],
  ])('is none for %s', (_of, tx, fees, gasNeeded) => {
    expect(obstacleOf(tx, { fees, gasNeeded })).toBeUndefined()
  })

  it.each([
    ['a block below its gas limit', TX, { baseFee: 0n, blockGasLimit: 99_999n }, undefined, false, /100000.*99999/],
    ['too little gas', TX, { baseFee: 0n }, 100_001n, false, /100000.*100001/],
    [
      'a base fee above its fee cap',
      TX,
      { baseFee: 11_000_000_000n },
      undefined,
      true,
      / base fee of 11 gwei.*10 gwei/,
    ],
    [
      'a blob base fee above its fee cap',
      BLOB_TX,
      { baseFee: 0n, blobBaseFee: 6_000_000_000n },
      undefined,
      true,
      /blob base fee of 6 gwei.*blob fee cap of 5 gwei/,
    ],
  ])('is %s', (_what, tx, fees, gasNeeded, isPrice, reason) => {
    expect(obstacleOf(tx, { fees, gasNeeded })).toEqual({ isPrice, reason: expect.stringMatching(reason) })
  })
})

describe('replacementOf', () => {
  const suggestion = { tip: 1_000n, baseFee: 1_000_000_000n }
  const gasLimitWith = (blockGasLimit: bigint | undefined, gasNeeded: bigint | undefined) =>
    replacementOf(TX, suggestion, { fees: { baseFee: 0n, blockGasLimit }, gasNeeded }).gasLimit

  it('raises the fees and keeps the rest', () => {
    expect(replacementOf(TX, suggestion, { fees: suggestion, gasNeeded: undefined })).toEqual({
      ...TX,
      fees: { tip: 1_100n, feeCap: 11_000_000_000n },
    })
  })

  it('has the needed gas if that is more, or if a block holds no more', () => {
    expect(gasLimitWith(undefined, undefined)).toBe(100_000n)
    expect(gasLimitWith(undefined, 60_000n)).toBe(100_000n)
    expect(gasLimitWith(undefined, 150_000n)).toBe(150_000n)
    expect(gasLimitWith(100_000n, 60_000n)).toBe(100_000n)
    expect(gasLimitWith(80_000n, 60_000n)).toBe(60_000n)
  })

  it('is refused if the L1 cannot mine it either', () => {
    expect(() => gasLimitWith(80_000n, 90_000n)).toThrow(errorWith('tx-unmineable', 90_000, 80_000))
    expect(() => gasLimitWith(80_000n, undefined)).toThrow(errorWith('tx-unmineable', 100_000, 80_000))
  })

  it("is refused above the operator's limits, if they apply", () => {
    const low = { tip: 1n, baseFee: 1n }
    const replace = (feeLimitMultiplier?: bigint) =>
      replacementOf(
        TX,
        low,
        { fees: low, gasNeeded: undefined },
        feeLimitMultiplier === undefined ? undefined : { feeLimitMultiplier, feeLimitThresholdWei: 0n },
      )
    expect(() => replace(5n)).toThrow(errorWith('fee-limit', '--fee-limit-multiplier', 5))
    expect(replace().fees.feeCap).toBe(11_000_000_000n)
  })
})
