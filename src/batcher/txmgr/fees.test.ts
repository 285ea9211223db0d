import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadRecording } from '../../../test/support/recording.ts'
import { fromHex, quantityToBigInt } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { bumpFees, calldataGas, checkFeeLimits, feeCapOf, firstFees, gasPricesOf, pragueCalldataGas } from './fees.ts'

describe('firstFees', () => {
  const suggestion = { tip: 3n, baseFee: 10n, blobBaseFee: 4_000_000_000n }

  it('cover twice the base fee, and twice the blob base fee of a blob transaction', () => {
    expect(firstFees(suggestion, 'calldata')).toEqual({ tip: 3n, feeCap: 23n })
    expect(firstFees(suggestion, 'blobs')).toEqual({ tip: 3n, feeCap: 23n, blobFeeCap: 8_000_000_000n })
  })

  it('pay at least the lowest blob fee', () => {
    const { blobFeeCap } = firstFees({ ...suggestion, blobBaseFee: 1n }, 'blobs')
    expect(blobFeeCap).toBe(1_000_000_000n)
    expect(firstFees({ ...suggestion, blobBaseFee: 1n, minBlobFeeCap: 7n }, 'blobs').blobFeeCap).toBe(7n)
  })
})

describe('bumpFees', () => {
  // Old fees: tip 100, cap 100 + 2 * 450 = 1000. Thresholds: 110 and 1100.
  const old = { tip: 100n, feeCap: 1000n }
  it.each([
    { id: 'both rose enough', suggestion: { tip: 120n, baseFee: 500n }, tip: 120n, feeCap: 1120n },
    { id: 'only the tip rose', suggestion: { tip: 120n, baseFee: 400n }, tip: 120n, feeCap: 1100n },
    { id: 'only the cap rose', suggestion: { tip: 100n, baseFee: 600n }, tip: 110n, feeCap: 1310n },
    { id: 'nothing rose', suggestion: { tip: 100n, baseFee: 450n }, tip: 110n, feeCap: 1100n },
  ])('$id', ({ suggestion, tip, feeCap }) => {
    expect(bumpFees(old, suggestion)).toEqual({ tip, feeCap })
  })

  it('rounds thresholds up', () => {
    expect(bumpFees({ tip: 1n, feeCap: 11n }, { tip: 0n, baseFee: 0n })).toEqual({ tip: 2n, feeCap: 13n })
  })

  it('doubles all fees of a blob transaction', () => {
    const blobTx = { ...old, blobFeeCap: 30n }
    const bumped = { tip: 200n, feeCap: 2000n, blobFeeCap: 60n }
    expect(bumpFees(blobTx, { tip: 100n, baseFee: 450n, blobBaseFee: 15n })).toEqual(bumped)
    expect(bumpFees(blobTx, { tip: 100n, baseFee: 450n, blobBaseFee: 70n })).toEqual({ ...bumped, blobFeeCap: 70n })
  })

  it('always satisfies the replacement rule of the transaction pool', () => {
    const wei = fc.bigInt({ min: 0n, max: 10n ** 15n })
    fc.assert(
      fc.property(wei, wei, wei, wei, (tip, extra, newTip, baseFee) => {
        const before = { tip, feeCap: tip + extra }
        const after = bumpFees(before, { tip: newTip, baseFee })
        expect(after.tip * 100n).toBeGreaterThanOrEqual(before.tip * 110n)
        expect(after.feeCap * 100n).toBeGreaterThanOrEqual(before.feeCap * 110n)
        expect(after.feeCap).toBeGreaterThanOrEqual(after.tip)
      }),
    )
  })
})

describe('checkFeeLimits', () => {
  const limits = { feeLimitMultiplier: 5n, feeLimitThresholdWei: 1000n }
  const suggestion = { tip: 100n, baseFee: 500n }
  it('allows everything below the threshold', () => {
    expect(() => checkFeeLimits({ tip: 999n, feeCap: 999n }, { tip: 1n, baseFee: 1n }, limits)).not.toThrow()
  })
  it('limits the tip', () => {
    expect(() => checkFeeLimits({ tip: 1000n, feeCap: 1100n }, suggestion, limits)).toThrow(
      errorWith('fee-limit', 'tip cap', 1000, 5, 100),
    )
  })
  it('limits the blob fee cap, but never below five times the lowest blob fee cap', () => {
    const blobLimits = { ...limits, feeLimitThresholdWei: 1n }
    const fees = { tip: 100n, feeCap: 1000n }
    const least = { ...suggestion, blobBaseFee: 1n }
    expect(() => checkFeeLimits({ ...fees, blobFeeCap: 5_000_000_000n }, least, blobLimits)).not.toThrow()
    expect(() => checkFeeLimits({ ...fees, blobFeeCap: 5_000_000_001n }, least, blobLimits)).toThrow(
      errorWith('fee-limit', 'blob fee cap', 5_000_000_001n, 5, 1_000_000_000n),
    )
  })
  it('limits the fee cap', () => {
    const highest = 5n * feeCapOf(suggestion)
    expect(() => checkFeeLimits({ tip: 100n, feeCap: highest }, suggestion, limits)).not.toThrow()
    expect(() => checkFeeLimits({ tip: 100n, feeCap: highest + 1n }, suggestion, limits)).toThrow(
      errorWith('fee-limit', 'fee cap', highest + 1n, 5, 1_100),
    )
  })
})

describe('gas of calldata', () => {
  it.each([
    { data: [], gas: 21_000n },
    { data: [0, 0, 0], gas: 21_030n },
    { data: [0, 1], gas: 21_050n },
  ])('is at least the floor of EIP-7623: $data', ({ data, gas }) => {
    expect(calldataGas(Uint8Array.from(data))).toBe(gas)
  })

  it('equals the gas that a recorded L1 charged before and after Glamsterdam, and the limit covers both', () => {
    const { config, l1 } = loadRecording('2026-glamsterdam-l1')
    const charged = { prague: 0, glamsterdam: 0 }
    for (const block of l1) {
      for (const [index, { to, input }] of block.transactions.entries()) {
        if (to !== config.batchInboxAddress) continue
        const data = fromHex(String(input))
        const gasUsed = quantityToBigInt(block.receipts[index]?.gasUsed, 'gasUsed')
        const isGlamsterdam = block.slotNumber !== undefined
        charged[isGlamsterdam ? 'glamsterdam' : 'prague'] += 1
        const { perTx, perByte } = gasPricesOf({ isGlamsterdam })
        expect(gasUsed).toBe(isGlamsterdam ? perTx + perByte * BigInt(data.length) : pragueCalldataGas(data))
        expect(calldataGas(data)).toBeGreaterThanOrEqual(gasUsed)
        expect(calldataGas(data)).toBeGreaterThanOrEqual(pragueCalldataGas(data))
      }
    }
    expect(charged).toEqual({ prague: 16, glamsterdam: 38 })
  })

  it('has the price of Prague unless the head is a Glamsterdam block', () => {
    expect(gasPricesOf({})).toEqual({ perTx: 21_000n, perByte: 40n })
  })
})
