import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { testConfig } from '../testUtils/config.ts'
import { depositTxHash, encodeDepositTx } from '../transaction/deposit.ts'
import type { L1BlockInfo, SystemConfig } from '../types.ts'
import { encodeL1Info, type L1Info, l1InfoDepositTx, l1InfoOfTransactions, parseL1Info } from './l1Info.ts'

const L1_BLOCK: L1BlockInfo = {
  hash: `0x${'11'.repeat(32)}`,
  number: 1000,
  parentHash: `0x${'10'.repeat(32)}`,
  timestamp: 1_700_000_000,
  mixHash: `0x${'00'.repeat(32)}`,
  baseFeePerGas: 7_000_000_000n,
}
/** Blob base fee 3 with Cancun's update fraction. */
const CANCUN_BLOCK: L1BlockInfo = { ...L1_BLOCK, excessBlobGas: 4_000_000n }
const ECOTONE_SCALAR: Hex = '0x010000000000000000000000000000000000000000000000000c5fc500000558'
const BEDROCK_TX =
  '0x7ef9015aa0f109b4cb8dc4582b9b04011e42aa61c63aa2fc0e73d21a0fbdbfde490a61513e94deaddeaddeaddeaddeaddeaddeaddeaddead000194420000000000000000000000000000000000001580808408f0d18001b90104015d8eb900000000000000000000000000000000000000000000000000000000000003e8000000000000000000000000000000000000000000000000000000006553f10000000000000000000000000000000000000000000000000000000001a13b860011111111111111111111111111111111111111111111111111111111111111110000000000000000000000000000000000000000000000000000000000000005000000000000000000000000222222222222222222222222222222222222222200000000000000000000000000000000000000000000000000000000000000bc0000000000000000000000000000000000000000000000000000000000000a6f'
const ECOTONE_TX =
  '0x7ef8f8a0f109b4cb8dc4582b9b04011e42aa61c63aa2fc0e73d21a0fbdbfde490a61513e94deaddeaddeaddeaddeaddeaddeaddeaddead00019442000000000000000000000000000000000000158080830f424080b8a4440a5e2000000558000c5fc50000000000000005000000006553f10000000000000003e800000000000000000000000000000000000000000000000000000001a13b8600000000000000000000000000000000000000000000000000000000000000000311111111111111111111111111111111111111111111111111111111111111110000000000000000000000002222222222222222222222222222222222222222'
const ISTHMUS_CALLDATA =
  '0x098999be00000558000c5fc5000000000000000500000000661c277300000000012bec20000000000000000000000000000000000000000000000000000000026e9f109900000000000000000000000000000000000000000000000000000000000000011c4c84c50740386c7dc081efddd644405f04cde73e30a2e381737acce9f5add30000000000000000000000006887246668a3b87f54deb3b94ba47a6f63f329850000abcd000000000000dcba'

const config = testConfig()
const L2_TIME = 1_700_000_100
const bedrockSystem = config.genesis.systemConfig
const ecotoneSystem: SystemConfig = { ...bedrockSystem, overhead: `0x${'00'.repeat(32)}`, scalar: ECOTONE_SCALAR }

describe('L1-info deposit', () => {
  it('has the reference encoding before Regolith', () => {
    const tx = l1InfoDepositTx(config, bedrockSystem, 5, L1_BLOCK, L2_TIME)
    expect(toHex(encodeDepositTx(tx))).toBe(BEDROCK_TX)
    expect(depositTxHash(tx)).toBe('0xa8229c4f50c2e318a15ed3bd3b2742375dc3b74a7261b4f9a5892c1fc4daa5f5')
  })

  it('is not a system transaction since Regolith', () => {
    const tx = l1InfoDepositTx(testConfig({ regolith: 0 }), bedrockSystem, 5, L1_BLOCK, L2_TIME)
    expect(encodeDepositTx(tx).length).toBe(349)
    expect(depositTxHash(tx)).toBe('0x354977b5e97c7ffaea0b3ae15be71ad27ad9fabb540abad7c702b20946eeaa72')
  })

  it('has the packed format since Ecotone', () => {
    const tx = l1InfoDepositTx(testConfig({ ecotone: 0 }), ecotoneSystem, 5, CANCUN_BLOCK, L2_TIME)
    expect(toHex(encodeDepositTx(tx))).toBe(ECOTONE_TX)
    expect(depositTxHash(tx)).toBe('0xd450aa1c8ca6a78839c6cb4f928841c52fc44fe83a12a17bce61668e6dbf81af')
  })

  it('is the first transaction of a block, and calls the L1 block contract', () => {
    const tx = l1InfoDepositTx(config, bedrockSystem, 5, L1_BLOCK, L2_TIME)
    expect(l1InfoOfTransactions([encodeDepositTx(tx)]).number).toBe(1000)
    expect(() => l1InfoOfTransactions([encodeDepositTx({ ...tx, to: tx.from })])).toThrow(DecodeError)
    expect(() => l1InfoOfTransactions([])).toThrow(DecodeError)
  })

  it.each([
    ['ecotone', { ecotone: L2_TIME }, 260, 164],
    ['isthmus', { ecotone: 0, isthmus: L2_TIME }, 164, 176],
    ['jovian', { isthmus: 0, jovian: L2_TIME }, 176, 178],
  ] as const)('keeps the previous format in the activation block of %s', (_, forks, before, after) => {
    const at = (l2Time: number) =>
      l1InfoDepositTx(testConfig(forks), ecotoneSystem, 0, CANCUN_BLOCK, l2Time).data.length
    expect([at(L2_TIME - 2), at(L2_TIME), at(L2_TIME + 2)]).toEqual([before, before, after])
  })

  it('has the default DA footprint scalar if none is set', () => {
    const info = (daFootprintGasScalar: number) =>
      parseL1Info(
        l1InfoDepositTx(testConfig({ jovian: 0 }), { ...ecotoneSystem, daFootprintGasScalar }, 0, CANCUN_BLOCK, L2_TIME)
          .data,
      ).daFootprintGasScalar
    expect([info(0), info(7)]).toEqual([400, 7])
  })
})

describe('parseL1Info', () => {
  it('reads Isthmus calldata of a public chain', () => {
    expect(parseL1Info(fromHex(ISTHMUS_CALLDATA))).toEqual({
      format: 'isthmus',
      number: 19_655_712,
      timestamp: 1_713_121_139,
      baseFee: 10_445_852_825n,
      blockHash: '0x1c4c84c50740386c7dc081efddd644405f04cde73e30a2e381737acce9f5add3',
      sequenceNumber: 5,
      batcherAddress: '0x6887246668a3b87f54deb3b94ba47a6f63f32985',
      blobBaseFee: 1n,
      baseFeeScalar: 1368,
      blobBaseFeeScalar: 810_949,
      operatorFeeScalar: 0xabcd,
      operatorFeeConstant: 0xdcban,
    } satisfies L1Info)
  })

  it('reads the deposit of a block', () => {
    expect(l1InfoOfTransactions([fromHex(ECOTONE_TX)])).toMatchObject({
      number: 1000,
      sequenceNumber: 5,
      blobBaseFee: 3n,
    })
    expect(l1InfoOfTransactions([fromHex(BEDROCK_TX)])).toMatchObject({ overhead: 0xbcn, scalar: 0xa6fn })
    expect(() => l1InfoOfTransactions([])).toThrow(DecodeError)
  })

  it.each([
    ['another length', `${ISTHMUS_CALLDATA}00`],
    ['an unknown selector', `0x11111111${ISTHMUS_CALLDATA.slice(10)}`],
    ['a number above 2^53', ISTHMUS_CALLDATA.replace('00000000012bec20', 'ff000000012bec20')],
    ['a batcher hash that is no address', ISTHMUS_CALLDATA.replace('0000000000006887', '0000000000016887')],
  ])('refuses %s', (_, text) => {
    expect(() => parseL1Info(fromHex(text))).toThrow(DecodeError)
  })

  it('reads the output of encodeL1Info', () => {
    fc.assert(
      fc.property(arbitraryInfo(), (info) => {
        expect(parseL1Info(encodeL1Info(info))).toEqual(info)
      }),
    )
  })

  it('throws only DecodeError', () => {
    const selectors = ['0x015d8eb9', '0x440a5e20', '0x098999be', '0x3db6be2b'].map((hex) => fromHex(hex))
    fc.assert(
      fc.property(
        fc.constantFrom(...selectors),
        fc.constantFrom(256, 160, 172, 174, 10),
        fc.infiniteStream(fc.nat(255)),
        (selector, length, stream) => {
          const data = Uint8Array.of(...selector, ...[...stream.take(length)])
          expectDecodeErrorOrDone(() => parseL1Info(data))
        },
      ),
    )
  })
})

function arbitraryInfo(): fc.Arbitrary<L1Info> {
  const u32 = fc.nat(0xffff_ffff)
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  const word = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
  const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex)
  const base = {
    number: fc.maxSafeNat(),
    timestamp: fc.maxSafeNat(),
    baseFee: word,
    blockHash: hex(32),
    sequenceNumber: fc.maxSafeNat(),
    batcherAddress: hex(20),
  }
  const scalars = { blobBaseFee: word, baseFeeScalar: u32, blobBaseFeeScalar: u32 }
  const isthmus = { ...base, ...scalars, operatorFeeScalar: u32, operatorFeeConstant: u64 }
  const none = { blobBaseFee: fc.constant(0n), baseFeeScalar: fc.constant(0), blobBaseFeeScalar: fc.constant(0) }
  return fc.oneof(
    fc.record({ format: fc.constant('bedrock' as const), ...base, ...none, overhead: word, scalar: word }),
    fc.record({ format: fc.constant('ecotone' as const), ...base, ...scalars }),
    fc.record({ format: fc.constant('isthmus' as const), ...isthmus }),
    fc.record({ format: fc.constant('jovian' as const), ...isthmus, daFootprintGasScalar: fc.nat(0xffff) }),
  )
}
