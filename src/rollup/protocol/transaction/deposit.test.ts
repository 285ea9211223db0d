import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { DecodeError, severityOf } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import type { L1Log } from '../types.ts'
import {
  type DepositTx,
  decodeDepositTx,
  depositsFromReceipts,
  depositTxHash,
  encodeDepositTx,
  TRANSACTION_DEPOSITED_TOPIC,
  userDepositFromLog,
} from './deposit.ts'
import { fieldsToJson, transactionFromJson } from './json.ts'
import { invalidatedBlockSourceHash, l1InfoSourceHash, userDepositSourceHash } from './sourceHash.ts'

const PORTAL: Hex = `0x${'b2'.repeat(20)}`
const L1_HASH: Hex = `0x${'11'.repeat(32)}`
const REFERENCE_TX: DepositTx = {
  sourceHash: L1_HASH,
  from: `0x${'33'.repeat(20)}`,
  to: null,
  mint: 1000n,
  value: 7n,
  gas: 100_000n,
  isSystemTx: false,
  data: Uint8Array.of(0xab),
}

describe('source hashes', () => {
  it('depend on their domains', () => {
    expect(userDepositSourceHash(L1_HASH, 5)).toBe('0x146ccb4da69238482601254dfabe54985997c192573912fdcf46520b5d64b9a4')
    expect(l1InfoSourceHash(L1_HASH, 5)).toBe('0xf109b4cb8dc4582b9b04011e42aa61c63aa2fc0e73d21a0fbdbfde490a61513e')
    expect(invalidatedBlockSourceHash(L1_HASH)).not.toBe(invalidatedBlockSourceHash(`0x${'12'.repeat(32)}`))
  })
})

describe('deposit transaction', () => {
  it('has the encoding and hash of op-geth', () => {
    expect(toHex(encodeDepositTx(REFERENCE_TX))).toBe(
      '0x7ef842a01111111111111111111111111111111111111111111111111111111111111111943333333333333333333333333333333333333333808203e807830186a08081ab',
    )
    expect(depositTxHash(REFERENCE_TX)).toBe('0xcf2e5a20722c2c7c656c01bd7e1e5f9de17a20e3f88567b7be58be2232a7d75e')
  })

  it('survives encoding and decoding', () => {
    fc.assert(
      fc.property(arbitraryDeposit(), (tx) => {
        expect(decodeDepositTx(encodeDepositTx(tx))).toEqual(tx)
      }),
    )
  })

  it('refuses truncated or changed bytes with DecodeError, or re-encodes them unchanged', () => {
    fc.assert(
      fc.property(arbitraryDeposit(), fc.nat(), fc.nat(255), fc.boolean(), (tx, at, byte, cut) => {
        const bytes = encodeDepositTx(tx).slice()
        const position = at % bytes.length
        if (!cut) bytes[position] = byte
        expectDecodeErrorOrIdentity(cut ? bytes.subarray(0, position) : bytes)
      }),
    )
  })

  it.each([
    ['a recipient of 19 bytes', [2, new Uint8Array(19)]],
    ['a recipient of 21 bytes', [2, new Uint8Array(21)]],
    ['a flag that is no boolean', [6, 2]],
  ] as const)('is refused with %s', (_, [field, value]) => {
    const fields: (Uint8Array | number)[] = [new Uint8Array(32), new Uint8Array(20), new Uint8Array(20), 0, 0, 0, 0]
    fields.push(new Uint8Array(0))
    const encoded = () => concatBytes(Uint8Array.of(0x7e), encodeRlp(fields))
    expect(() => decodeDepositTx(encoded())).not.toThrow()
    fields[field] = value
    expect(() => decodeDepositTx(encoded())).toThrow(DecodeError)
  })

  it('refuses arbitrary bytes with DecodeError', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => expectDecodeErrorOrIdentity(concatBytes(Uint8Array.of(0x7e), bytes))),
    )
  })
})

describe('isSystemTx in JSON', () => {
  const { gas, isSystemTx: _, ...tx } = REFERENCE_TX
  const withFlag = (isSystemTx: unknown) => ({
    ...fieldsToJson({ type: 0x7e, ...tx, gasLimit: gas }),
    type: '0x7e',
    isSystemTx,
  })

  it.each<[string, unknown, boolean]>([
    ['absent', undefined, false],
    ['null', null, false],
    ['false', false, false],
    ['true', true, true],
    ['0x0', '0x0', false],
    ['0x1', '0x1', true],
  ])('may be %s', (_, value, expected) => {
    expect(decodeDepositTx(transactionFromJson(withFlag(value))).isSystemTx).toBe(expected)
  })

  it.each([['0x2'], ['yes'], [1], [{}]])('may not be %j', (value) => {
    expect(() => transactionFromJson(withFlag(value))).toThrow(DecodeError)
  })
})

describe('user deposits from logs', () => {
  const opaque = (overrides: { isCreation?: number; data?: Uint8Array } = {}) =>
    concatBytes(
      bigIntToBytes(1000n, 32),
      bigIntToBytes(7n, 32),
      bigIntToBytes(100_000n, 8),
      Uint8Array.of(overrides.isCreation ?? 0),
      overrides.data ?? Uint8Array.of(1, 2, 3),
    )

  it('reads a call', () => {
    expect(userDepositFromLog(depositLog(opaque()), L1_HASH)).toEqual({
      sourceHash: userDepositSourceHash(L1_HASH, 5),
      from: `0x${'33'.repeat(20)}`,
      to: `0x${'44'.repeat(20)}`,
      mint: 1000n,
      value: 7n,
      gas: 100_000n,
      isSystemTx: false,
      data: Uint8Array.of(1, 2, 3),
    } satisfies DepositTx)
  })

  it('reads a contract creation', () => {
    expect(userDepositFromLog(depositLog(opaque({ isCreation: 1 })), L1_HASH).to).toBeNull()
  })

  it('reads data that fills whole words', () => {
    const data = new Uint8Array(96 - 73).fill(7)
    expect(userDepositFromLog(depositLog(opaque({ data })), L1_HASH).data).toEqual(data)
  })

  const good = depositLog(opaque())
  const full = depositLog(opaque({ data: new Uint8Array(96 - 73) }))
  it.each([
    ['a missing topic', { ...good, topics: good.topics.slice(0, 3) }],
    ['a topic too many', { ...good, topics: [...good.topics, L1_HASH] }],
    ['a short address topic', { ...good, topics: good.topics.with(1, '0x33') }],
    ['a word of padding behind full words', { ...full, data: concatBytes(full.data, new Uint8Array(32)) }],
    ['another version', { ...good, topics: [...good.topics.slice(0, 3), `0x${'1'.padStart(64, '0')}` as Hex] }],
    ['another event', { ...good, topics: [L1_HASH, ...good.topics.slice(1)] }],
    ['data that are no whole words', { ...good, data: good.data.subarray(0, -1) }],
    ['one word more of padding than needed', { ...good, data: concatBytes(good.data, new Uint8Array(32)) }],
    ['another offset', { ...good, data: concatBytes(bigIntToBytes(64n, 32), good.data.subarray(32)) }],
    [
      'a length beyond the data',
      { ...good, data: concatBytes(good.data.subarray(0, 32), bigIntToBytes(2n ** 255n, 32), good.data.subarray(64)) },
    ],
    ['opaque data shorter than the fixed fields', depositLog(opaque().subarray(0, 70))],
  ])('is critical for %s', (_, log) => {
    try {
      userDepositFromLog(log, L1_HASH)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(DecodeError)
      expect(severityOf(error)).toBe('critical')
    }
  })

  it('come from successful transactions and the portal only, in order', () => {
    const log = (logIndex: number, address = PORTAL): L1Log => ({ ...good, logIndex, address })
    const other: L1Log = { ...log(3), topics: [L1_HASH] }
    const receipts = [
      { transactionHash: L1_HASH, status: true, logs: [log(0), log(1, L1_HASH), other] },
      { transactionHash: L1_HASH, status: false, logs: [log(4)] },
      { transactionHash: L1_HASH, status: true, logs: [{ ...log(5), topics: [] }, log(6)] },
    ]
    expect(depositsFromReceipts(receipts, PORTAL, L1_HASH).map((tx) => tx.sourceHash)).toEqual(
      [0, 6].map((index) => userDepositSourceHash(L1_HASH, index)),
    )
  })
})

function depositLog(opaque: Uint8Array): L1Log {
  const padding = new Uint8Array((32 - (opaque.length % 32)) % 32)
  return {
    address: PORTAL,
    topics: [
      TRANSACTION_DEPOSITED_TOPIC,
      `0x${'33'.repeat(20).padStart(64, '0')}`,
      `0x${'44'.repeat(20).padStart(64, '0')}`,
      `0x${'0'.repeat(64)}`,
    ],
    data: concatBytes(bigIntToBytes(32n, 32), bigIntToBytes(BigInt(opaque.length), 32), opaque, padding),
    logIndex: 5,
  }
}

function expectDecodeErrorOrIdentity(bytes: Uint8Array): void {
  expectDecodeErrorOrDone(() => expect(toHex(encodeDepositTx(decodeDepositTx(bytes)))).toBe(toHex(bytes)))
}

function arbitraryDeposit(): fc.Arbitrary<DepositTx> {
  const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex)
  const word = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
  return fc.record({
    sourceHash: hex(32),
    from: hex(20),
    to: fc.option(hex(20)),
    mint: word,
    value: word,
    gas: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    isSystemTx: fc.boolean(),
    data: fc.uint8Array({ maxLength: 100 }),
  })
}

// fromHex is what callers use to build deposits from text; a wrong length must not pass silently.
it('refuses to encode addresses of another length', () => {
  expect(() => encodeDepositTx({ ...REFERENCE_TX, from: toHex(fromHex('0x1234')) })).toThrow(DecodeError)
})
