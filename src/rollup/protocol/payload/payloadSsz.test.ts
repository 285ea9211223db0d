import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { privateKeyToAddress, publicKeyToAddress, recoverPublicKey, signHash } from '../../../lib/secp256k1.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { testConfig } from '../testUtils/config.ts'
import type { ExecutionPayload, PayloadEnvelope } from '../types.ts'
import { payloadVersionAt } from './payload.ts'
import {
  checkTransactions,
  claimedTransactions,
  decodePayloadEnvelope,
  encodePayloadEnvelope,
  encodePayloadParts,
  type PayloadVersion,
  readTransactions,
  transactionCount,
  transactionsPlace,
} from './payloadSsz.ts'
import { payloadSigningHash, payloadSigningHashOfBody } from './signing.ts'

const BLOOM: Hex = `0x04${'00'.repeat(254)}05`
const V1: ExecutionPayload = {
  parentHash: `0x${'01'.repeat(32)}`,
  feeRecipient: '0x4200000000000000000000000000000000000011',
  stateRoot: `0x${'02'.repeat(32)}`,
  receiptsRoot: `0x${'03'.repeat(32)}`,
  logsBloom: BLOOM,
  prevRandao: `0x${'06'.repeat(32)}`,
  blockNumber: 0x1234,
  gasLimit: 30_000_000n,
  gasUsed: 123_456n,
  timestamp: 1_700_000_102,
  extraData: '0xaabb',
  baseFeePerGas: 1_000_000_007n,
  blockHash: `0x${'08'.repeat(32)}`,
  transactions: [fromHex('0x7e0102'), fromHex('0x0209090909')],
}
const V2: ExecutionPayload = { ...V1, withdrawals: [] }
const V3: ExecutionPayload = { ...V2, blobGasUsed: 0n, excessBlobGas: 0n }
const V4: ExecutionPayload = { ...V3, withdrawalsRoot: `0x${'0a'.repeat(32)}` }
const BEACON_ROOT: Hex = `0x${'09'.repeat(32)}`
const withRoot = (payload: ExecutionPayload): PayloadEnvelope => ({ parentBeaconBlockRoot: BEACON_ROOT, payload })

/** Hashes of bodies that op-node's encoder produced (version 4: another encoder of the same format). */
const VECTORS: { id: string; version: PayloadVersion; envelope: PayloadEnvelope; length: number; hash: Hex }[] = [
  {
    id: 'v1',
    version: 1,
    envelope: { payload: V1 },
    length: 526,
    hash: '0x558d08d7f125c1cae9946fce3cdb05122923647a5c5fb7618c8c450f890f7650',
  },
  {
    id: 'v2',
    version: 2,
    envelope: { payload: V2 },
    length: 530,
    hash: '0x4a297bf6c671b5551bf69c1b18a13a957bb6a877181d1be87c3ae13a94f6eb02',
  },
  {
    id: 'v3',
    version: 3,
    envelope: withRoot(V3),
    length: 578,
    hash: '0x727918178490f8a96edf9af327a6f7139f8cb3c1592a27c0b06b69ff26a4dc24',
  },
  {
    id: 'v4',
    version: 4,
    envelope: withRoot(V4),
    length: 610,
    hash: '0x95ec16c6cc2359c6dfbd7b8284bbf80ff3e2a74f54c8431d2f2a8a4161e807ae',
  },
  {
    id: 'v4 with a DA footprint',
    version: 4,
    envelope: withRoot({ ...V4, blobGasUsed: 100_000n }),
    length: 610,
    hash: '0x0b9ef18cfcae10feeeb0f88f47da07947aef493f4853d379acb40bd53344108d',
  },
]

describe('payload SSZ', () => {
  it.each(VECTORS)('$id has the reference encoding', ({ version, envelope, length, hash }) => {
    const body = encodePayloadEnvelope(envelope, version)
    expect(body.length).toBe(length)
    expect(keccak256Hex(body)).toBe(hash)
    expect(decodePayloadEnvelope(body, version)).toEqual(envelope)
  })

  it('requires the members of its version', () => {
    expect(() => encodePayloadEnvelope({ payload: V3 }, 3)).toThrow(DeviumError)
    expect(() => encodePayloadEnvelope(withRoot(V2), 3)).toThrow(errorWith('payload-version', 'blobGasUsed'))
    expect(() => encodePayloadEnvelope(withRoot({ ...V2, blobGasUsed: 0n }), 3)).toThrow(
      errorWith('payload-version', 'excessBlobGas'),
    )
    expect(() => encodePayloadEnvelope(withRoot(V3), 4)).toThrow(errorWith('payload-version', 'withdrawalsRoot', 4))
  })

  it.each<[string, Partial<ExecutionPayload>]>([
    ['33 bytes of extra data', { extraData: `0x${'00'.repeat(33)}` }],
    ['a base fee of 257 bits', { baseFeePerGas: 2n ** 256n }],
    ['a base fee below 0', { baseFeePerGas: -1n }],
  ])('does not encode %s', (_, change) => {
    expect(() => encodePayloadEnvelope({ payload: { ...V1, ...change } }, 1)).toThrow()
  })

  it.each<[string, Partial<ExecutionPayload>]>([
    ['32 bytes of extra data', { extraData: `0x${'01'.repeat(32)}` }],
    ['a base fee of 256 bits', { baseFeePerGas: 2n ** 256n - 1n }],
    ['a base fee of 0', { baseFeePerGas: 0n }],
    ['a number of 2^53 - 1', { blockNumber: Number.MAX_SAFE_INTEGER }],
    ['no transactions', { transactions: [] }],
    ['no extra data', { extraData: '0x' }],
    [
      '16 withdrawals',
      { withdrawals: Array(16).fill({ index: 1n, validatorIndex: 2n, address: V1.feeRecipient, amount: 3n }) },
    ],
  ])('decodes %s unchanged', (_, change) => {
    const payload = { ...V2, ...change }
    expect(decodePayloadEnvelope(encodePayloadEnvelope({ payload }, 2), 2)).toStrictEqual({ payload })
  })

  it('has no withdrawals in version 1, even if the payload has some', () => {
    const withdrawals = [{ index: 1n, validatorIndex: 2n, address: V1.feeRecipient, amount: 3n }]
    const body = encodePayloadEnvelope({ payload: { ...V1, withdrawals } }, 1)
    expect(decodePayloadEnvelope(body, 1)).toStrictEqual({ payload: V1 })
  })

  it('refuses 17 withdrawals', () => {
    const body = concatBytes(encodePayloadEnvelope({ payload: V2 }, 2), new Uint8Array(17 * 44))
    expect(() => decodePayloadEnvelope(body, 2)).toThrow(errorWith('decode', 'withdrawals', 748))
  })

  it('reads a list of 2^20 transactions, and refuses a longer one', () => {
    const list = (count: number) => {
      const bytes = new Uint8Array(count * 4)
      return new Uint32Array(bytes.buffer).fill(count * 4) && bytes
    }
    expect(transactionCount(list(2 ** 20))).toBe(2 ** 20)
    expect(() => transactionCount(list(2 ** 20 + 1))).toThrow(DecodeError)
    const many = (length: number) => ({ payload: { ...V1, transactions: Array(length).fill(new Uint8Array(0)) } })
    expect(encodePayloadEnvelope(many(2 ** 20), 1).length).toBe(508 + 2 + 4 * 2 ** 20)
    expect(() => encodePayloadEnvelope(many(2 ** 20 + 1), 1)).toThrow(DecodeError)
  })

  it('checks a list while it reads, and stores nothing for empty transactions', () => {
    const good = Uint8Array.of(8, 0, 0, 0, 8, 0, 0, 0)
    const bad = Uint8Array.of(8, 0, 0, 0, 9, 0, 0, 0)
    expect(checkTransactions(good)).toEqual([])
    expect(() => checkTransactions(bad)).toThrow(DecodeError)
    expect(readTransactions(good).map(({ buffer }) => buffer.byteLength)).toEqual([0, 0])
  })

  const v3 = encodePayloadEnvelope(withRoot(V3), 3)
  const patched = (offset: number, value: number): Uint8Array => {
    const copy = v3.slice()
    new DataView(copy.buffer).setUint32(32 + offset, value, true)
    return copy
  }
  it.each<[string, Uint8Array, string, number?]>([
    ['shorter than its fixed part', v3.subarray(0, 500), 'payload', 468],
    ['shorter than the beacon root', v3.subarray(0, 31), 'payload envelope', 31],
    ['extra data elsewhere', patched(436, 529), 'extraData', 529],
    ['transactions before the extra data', patched(504, 527), 'transactions', 527],
    ['extra data of more than 32 bytes', patched(504, 528 + 33), 'transactions', 561],
    ['withdrawals before the transactions', patched(508, 529), 'withdrawals', 529],
    ['withdrawals beyond the end', patched(508, 547), 'withdrawals', 547],
    ['withdrawals that are no whole items', patched(508, 545), 'withdrawals', 1],
    ['a transaction list of three bytes', patched(508, 533), 'transaction list', 3],
    ['a first transaction at 0', patched(530, 0), 'first transaction', 0],
    ['a first transaction at no multiple of 4', patched(530, 6), 'first transaction', 6],
    ['a first transaction beyond the list', patched(530, 20), 'first transaction', 20],
    ['a transaction that ends before it begins', patched(534, 7), 'transaction 0', 7],
    ['a block number above 2^53', patched(408, 0xffff_ffff), 'block number'],
    ['a timestamp above 2^53', patched(432, 0xffff_ffff), 'timestamp'],
  ])('refuses %s', (_, bytes, ...named) => {
    const problem = errorWith('decode', ...named.filter((data) => data !== undefined))
    expect(() => decodePayloadEnvelope(bytes, 3)).toThrow(problem)
  })

  it('reports no transactions if the list is outside of the body or unreadable', () => {
    expect(transactionsPlace(v3, 3)).toEqual({ start: 562, end: 578 })
    expect(transactionsPlace(patched(504, 547), 3)).toBeUndefined()
    expect(transactionsPlace(patched(508, 547), 3)).toBeUndefined()
    expect(transactionsPlace(v3.subarray(0, 559), 3)).toBeUndefined()
    expect(claimedTransactions(v3, 3)).toBe(2)
    expect([6, 20, 16, 0].map((first) => claimedTransactions(patched(530, first), 3))).toEqual([0, 0, 4, 0])
    expect(claimedTransactions(patched(508, 533), 3)).toBe(0)
  })

  it('survives encoding and decoding', () => {
    fc.assert(
      fc.property(arbitraryVersioned(), ({ version, envelope }) => {
        const body = encodePayloadEnvelope(envelope, version)
        expect(decodePayloadEnvelope(body, version)).toEqual(envelope)
        expect(claimedTransactions(body, version)).toBe(envelope.payload.transactions.length)
      }),
    )
  })

  it('encodes part by part to the same bytes', () => {
    fc.assert(
      fc.property(arbitraryVersioned(), fc.integer({ min: 1, max: 900 }), ({ version, envelope }, partBytes) => {
        const parts = [...encodePayloadParts(envelope, version, partBytes)]
        expect(toHex(concatBytes(...parts))).toBe(toHex(encodePayloadEnvelope(envelope, version)))
        expect(parts.slice(0, -1).every(({ length }) => length === partBytes)).toBe(true)
      }),
    )
    const many = withRoot({ ...V4, transactions: Array.from({ length: 40_000 }, (_, n) => new Uint8Array(n % 5)) })
    const whole = encodePayloadEnvelope(many, 4)
    expect(Buffer.compare(concatBytes(...encodePayloadParts(many, 4, 65_536)), whole)).toBe(0)
    expect(() => encodePayloadParts(withRoot(V3), 4, 65_536)).toThrow(errorWith('payload-version', 'withdrawalsRoot'))
  })

  it('claims at most as many transactions as the body has room for', () => {
    const body = fc.uint8Array({ maxLength: 700 })
    fc.assert(
      fc.property(body, fc.constantFrom<PayloadVersion[]>(1, 2, 3, 4), (bytes, version) => {
        const claimed = claimedTransactions(bytes, version)
        expect(Number.isInteger(claimed) && claimed * 4 <= bytes.length).toBe(true)
      }),
    )
  })

  it('refuses changed bytes with DecodeError, or re-encodes them unchanged', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(arbitraryVersioned(), changes, fc.nat(600), ({ version, envelope }, list, cut) => {
        const whole = encodePayloadEnvelope(envelope, version).slice()
        for (const [at, byte] of list) whole[at % whole.length] = byte
        const bytes = whole.subarray(0, Math.max(0, whole.length - (cut < 300 ? 0 : cut - 300)))
        expectDecodeErrorOrDone(() =>
          expect(toHex(encodePayloadEnvelope(decodePayloadEnvelope(bytes, version), version))).toBe(toHex(bytes)),
        )
      }),
      { numRuns: propertyRuns(300) },
    )
  })
})

describe('payload signatures', () => {
  it('sign the domain, the chain id and the hash of the body', () => {
    const body = new TextEncoder().encode('arbitraryData')
    expect(toHex(payloadSigningHashOfBody(100n, body))).toBe(
      '0x726ab3cbba213a057f203ebfe15958f9f27a642c88daca9d2dc13d22e05e36da',
    )
    expect(() => payloadSigningHash(2n ** 256n, new Uint8Array(32))).toThrow(RangeError)
  })

  it.each([
    [3, V3, '0x768ff9a138a482273deb9956be7861d37b59b6765be253f05c6269b79276bce8'],
    [4, V4, '0x2ebd6d47221082ef258b68c7d4324cca2706aa3722e793c1d9d1fcff6b1084ea'],
    [4, { ...V4, blobGasUsed: 100_000n }, '0x01d726db74384c6ff882be5813e88b6bb2689dc6929033d070391e714a12485c'],
  ] as const)('hash a version %i body like op-node', (version, payload, hash) => {
    expect(toHex(payloadSigningHashOfBody(901n, encodePayloadEnvelope(withRoot(payload), version)))).toBe(hash)
  })

  it("equal op-node's, and return the signer", () => {
    const key = fromHex('46'.repeat(32))
    const hash = payloadSigningHashOfBody(901n, encodePayloadEnvelope(withRoot(V3), 3))
    const { r, s, yParity } = signHash(hash, key)
    expect(`${toHex(r)}${toHex(s).slice(2)}0${yParity}`).toBe(
      '0xe7d378308b07a55c7cbcb5d1f7f43cbe9582c8ff49dc0f3f9ba3eb81491508b77f30b4b09c056a758e0c499e44b64307cd835327e2efcb2f8870e4b65e72793800',
    )
    expect(publicKeyToAddress(recoverPublicKey(hash, r, s, yParity))).toBe(privateKeyToAddress(key))
  })
})

it('have a version that depends on the time of the block', () => {
  const config = testConfig({ canyon: 10, ecotone: 20, isthmus: 30, jovian: 40 })
  expect([9, 10, 19, 20, 29, 30, 45].map((time) => payloadVersionAt(config, time))).toEqual([1, 2, 2, 3, 3, 4, 4])
})

function arbitraryVersioned(): fc.Arbitrary<{ version: PayloadVersion; envelope: PayloadEnvelope }> {
  const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex)
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  const v1 = {
    parentHash: hex(32),
    feeRecipient: hex(20),
    stateRoot: hex(32),
    receiptsRoot: hex(32),
    logsBloom: hex(256),
    prevRandao: hex(32),
    blockNumber: fc.maxSafeNat(),
    gasLimit: u64,
    gasUsed: u64,
    timestamp: fc.maxSafeNat(),
    extraData: fc.uint8Array({ maxLength: 32 }).map(toHex),
    baseFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    blockHash: hex(32),
    transactions: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }),
  }
  const withdrawal = fc.record({ index: u64, validatorIndex: u64, address: hex(20), amount: u64 })
  const v2 = { ...v1, withdrawals: fc.array(withdrawal, { maxLength: 16 }) }
  const v3 = { ...v2, blobGasUsed: u64, excessBlobGas: u64 }
  const v4 = { ...v3, withdrawalsRoot: hex(32) }
  const bare = <T extends ExecutionPayload>(version: PayloadVersion, payload: fc.Arbitrary<T>) =>
    payload.map((value) => ({ version, envelope: { payload: value } }))
  const rooted = <T extends ExecutionPayload>(version: PayloadVersion, payload: fc.Arbitrary<T>) =>
    fc
      .tuple(payload, hex(32))
      .map(([value, root]) => ({ version, envelope: { parentBeaconBlockRoot: root, payload: value } }))
  return fc.oneof(bare(1, fc.record(v1)), bare(2, fc.record(v2)), rooted(3, fc.record(v3)), rooted(4, fc.record(v4)))
}
