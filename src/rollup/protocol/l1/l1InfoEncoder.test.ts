import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toHex } from '../../../lib/hex.ts'
import { testConfig } from '../testUtils/config.ts'
import { encodeDepositTx } from '../transaction/deposit.ts'
import type { L1BlockInfo, SystemConfig } from '../types.ts'
import { l1InfoDepositTx } from './l1Info.ts'
import { createL1InfoEncoder } from './l1InfoEncoder.ts'

const hash = (byte: number) => `0x${byte.toString(16).padStart(2, '0').repeat(32)}` as const

it('encodes each deposit independently of earlier ones', () => {
  const at = 1_700_000_000
  const config = testConfig({
    regolith: at + 4,
    canyon: at + 4,
    delta: at + 4,
    ecotone: at + 10,
    isthmus: at + 16,
    jovian: at + 22,
  })
  const encode = createL1InfoEncoder(config)
  const l1Block = fc.integer({ min: 0, max: 2 }).map(
    (number): L1BlockInfo => ({
      hash: hash(number),
      number,
      parentHash: hash(99),
      timestamp: at + number,
      mixHash: hash(98),
      baseFeePerGas: 7n,
      excessBlobGas: 0n,
    }),
  )
  const systemConfig = fc.record({ batcher: fc.integer({ min: 1, max: 2 }), fee: fc.integer({ min: 0, max: 2 }) }).map(
    ({ batcher, fee }): SystemConfig => ({
      batcherAddress: `0x${'0'.repeat(39)}${batcher}`,
      overhead: hash(0),
      scalar: `0x01${'0'.repeat(61)}${fee}`,
      gasLimit: 30_000_000n,
      ...(fee === 0 ? {} : { operatorFeeParams: hash(0), daFootprintGasScalar: fee }),
    }),
  )
  const call = fc.tuple(
    systemConfig,
    fc.oneof(fc.nat(5), fc.maxSafeNat()),
    l1Block,
    fc.nat(20).map((n) => at + n * 2),
  )
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 12 }), (calls) => {
      for (const args of calls)
        expect(toHex(encode(...args))).toBe(toHex(encodeDepositTx(l1InfoDepositTx(config, ...args))))
    }),
  )
})

it('keeps earlier results of an epoch, and the parameters of each block', () => {
  const at = 1_700_000_000
  const config = testConfig({ ecotone: at, isthmus: at, jovian: at })
  const encode = createL1InfoEncoder(config)
  const l1Block: L1BlockInfo = {
    hash: hash(1),
    number: 1,
    parentHash: hash(99),
    timestamp: at,
    mixHash: hash(98),
    baseFeePerGas: 7n,
    excessBlobGas: 0n,
  }
  const first: SystemConfig = {
    batcherAddress: `0x${'11'.repeat(20)}`,
    overhead: hash(0),
    scalar: `0x01${'0'.repeat(62)}`,
    gasLimit: 30_000_000n,
    operatorFeeParams: hash(0),
    daFootprintGasScalar: 1,
  }
  const changes: Partial<SystemConfig>[] = [
    {},
    {},
    { batcherAddress: `0x${'12'.repeat(20)}` },
    { scalar: `0x01${'0'.repeat(61)}1` },
    { operatorFeeParams: hash(1) },
    { daFootprintGasScalar: 2 },
    { gasLimit: 1n },
  ]
  // Each change is between two unchanged blocks: data of the previous deposit must not remain.
  const blocks = changes.flatMap((change) => [first, { ...first, ...change }])
  const encoded = blocks.map((systemConfig, n) => encode(systemConfig, n * 2 ** 31, l1Block, at + 2))
  const alone = blocks.map((systemConfig, n) =>
    encodeDepositTx(l1InfoDepositTx(config, systemConfig, n * 2 ** 31, l1Block, at + 2)),
  )
  expect(encoded.map(toHex)).toEqual(alone.map(toHex))
})
