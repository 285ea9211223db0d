import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keccak256Hex } from '../../lib/hash.ts'
import { toHex } from '../../lib/hex.ts'
import { orderedTrieRoot } from '../../rollup/protocol/index.ts'
import {
  decodeStoredReceipts,
  type ExecutionReceipt,
  encodeConsensusReceipt,
  encodeStoredReceipts,
  logsBloom,
  mergeBlooms,
} from './receiptCodec.ts'

const DEPOSIT: ExecutionReceipt = {
  type: 0x7e,
  status: 1,
  cumulativeGasUsed: 46_913n,
  logs: [],
  logsBloom: new Uint8Array(256),
  depositNonce: 5,
}

describe('encodeConsensusReceipt', () => {
  // Roots and hash computed with op-geth.
  it('omits the deposit nonce under Regolith', () => {
    expect(orderedTrieRoot([encodeConsensusReceipt(DEPOSIT)])).toBe(
      '0x3f71ebd8822765e8146170b0f930f55f753dbb867f55e4e605894016cd32f1e2',
    )
  })

  it('includes deposit nonce and version under Canyon', () => {
    const encoded = encodeConsensusReceipt({ ...DEPOSIT, depositReceiptVersion: 1 })
    expect(encoded.length).toBe(270)
    expect(toHex(encoded.subarray(0, 11))).toBe('0x7ef9010a0182b741b90100')
    expect(toHex(encoded.subarray(-3))).toBe('0xc00501')
    expect(keccak256Hex(encoded)).toBe('0x70f29dcdbe8bbce227cea2293df01a5c0eb55cf6c168b2486934b0bc9d79a1f3')
    expect(orderedTrieRoot([encoded])).toBe('0x76124100f3f7992901cab39f9184a04b3e31e195dd3fc2df0ade93f0a3df80c3')
  })
})

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex)
const log = fc.record({ address: hex(20), topics: fc.array(hex(32), { maxLength: 4 }), data: fc.uint8Array() })
const receipt: fc.Arbitrary<ExecutionReceipt> = fc
  .record({
    type: fc.constantFrom(0, 1, 2, 4),
    status: fc.constantFrom(0 as const, 1 as const),
    cumulativeGasUsed: fc.bigInt(0n, 2n ** 63n),
    logs: fc.array(log, { maxLength: 3 }),
  })
  .map((fields) => ({ ...fields, logsBloom: logsBloom(fields.logs) }))
const depositReceipt = fc
  .tuple(receipt, fc.integer({ min: 0, max: 1000 }), fc.boolean())
  .map(([fields, depositNonce, canyon]) => ({
    ...fields,
    type: 0x7e,
    depositNonce,
    ...(canyon ? { depositReceiptVersion: 1 } : {}),
  }))

describe('stored receipts', () => {
  it('survive a round trip', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(receipt, depositReceipt), { maxLength: 5 }), (receipts) => {
        expect(decodeStoredReceipts(encodeStoredReceipts(receipts))).toEqual(receipts)
      }),
    )
  })
})

describe('logsBloom', () => {
  it('sets the three bits per item of the Yellow Paper', () => {
    const bloom = logsBloom([{ address: '0x095e7baea6a6c7c4c2dfeb977efac326af552d87', topics: [] }])
    const bits = [...bloom].flatMap((byte, index) =>
      [...Array(8).keys()].filter((bit) => byte & (1 << bit)).map((bit) => (255 - index) * 8 + bit),
    )
    const hash = keccak256Hex(Buffer.from('095e7baea6a6c7c4c2dfeb977efac326af552d87', 'hex'))
    const expected = [0, 1, 2].map((part) => Number.parseInt(hash.slice(2 + part * 4, 6 + part * 4), 16) & 2047)
    expect(bits.sort()).toEqual(expected.sort())
  })

  it('of a block is the union of its receipts’ blooms', () => {
    fc.assert(
      fc.property(fc.array(receipt, { maxLength: 4 }), (receipts) => {
        expect(mergeBlooms(receipts)).toEqual(logsBloom(receipts.flatMap(({ logs }) => logs)))
      }),
    )
  })
})
