import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { serializeTransaction, toHex as viemHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp, encodeTypedRlp, type RlpInput } from '../../../lib/rlp.ts'
import { privateKeyToAddress, SECP256K1_ORDER, signHash } from '../../../lib/secp256k1.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import {
  type DepositTx,
  decodeSignedTransaction,
  decodeTransaction,
  encodeDepositTx,
  encodePostExecTx,
  encodeSigned,
  encodeTransaction,
  fieldsToJson,
  networkForm,
  readNetworkForm,
  senderOf,
  signingHash,
  TransactionReader,
  transactionFromJson,
  transactionToJson,
  type UnsignedTransaction,
} from '../index.ts'

const KEY = new Uint8Array(32).fill(0x11)
const SENDER = privateKeyToAddress(KEY)

const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => toHex(value))
const integer = (bits: number) =>
  fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n }), fc.bigInt({ min: 0n, max: 300n }))
/** viem rejects a tip above the fee cap. */
const fees = fc
  .tuple(integer(256), integer(256))
  .map(([a, b]) =>
    a > b ? { maxFeePerGas: a, maxPriorityFeePerGas: b } : { maxFeePerGas: b, maxPriorityFeePerGas: a },
  )
const chainId = fc.bigInt({ min: 1n, max: 2n ** 52n })
const authorization = fc.record({
  ...{ chainId: integer(52), address: hex(20), nonce: integer(52), yParity: fc.nat(1) },
  ...{ r: integer(256), s: integer(256) },
})
const accessList = fc.array(fc.record({ address: hex(20), storageKeys: fc.array(hex(32), { maxLength: 3 }) }), {
  maxLength: 3,
})
const body = {
  nonce: fc.oneof(fc.nat(300), fc.nat(Number.MAX_SAFE_INTEGER)),
  gasLimit: integer(64),
  value: integer(256),
  data: fc.uint8Array({ maxLength: 100 }),
}
const anyTo = fc.option(hex(20))
const onePrice = <T extends { maxFeePerGas: bigint }>(tx: T) => ({ ...tx, maxPriorityFeePerGas: tx.maxFeePerGas })

const blobHash = hex(31).map((rest): Hex => `0x01${rest.slice(2)}`)

function withFees<T extends object>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
  return fc.tuple(fc.record<T>(members), fees).map(([tx, prices]) => ({ ...tx, ...prices }))
}

/** Transactions of each type with all members encoded. */
const TRANSACTIONS: Record<string, fc.Arbitrary<UnsignedTransaction>> = {
  'legacy without replay protection': fc
    .record({
      ...body,
      type: fc.constant(0 as const),
      to: anyTo,
      accessList: fc.constant([]),
      maxFeePerGas: integer(256),
    })
    .map(onePrice),
  legacy: fc
    .record({
      ...body,
      type: fc.constant(0 as const),
      chainId,
      to: anyTo,
      accessList: fc.constant([]),
      maxFeePerGas: integer(256),
    })
    .map(onePrice),
  'access list': fc
    .record({ ...body, type: fc.constant(1 as const), chainId, to: anyTo, accessList, maxFeePerGas: integer(256) })
    .map(onePrice),
  'dynamic fee': withFees({ ...body, type: fc.constant(2 as const), chainId, to: anyTo, accessList }),
  blob: withFees({
    ...{ ...body, type: fc.constant(3 as const), chainId, to: hex(20), accessList },
    maxFeePerBlobGas: integer(256),
    blobVersionedHashes: fc.array(blobHash, { minLength: 1, maxLength: 6 }),
  }),
  'set code': withFees({
    ...{ ...body, type: fc.constant(4 as const), chainId, to: hex(20), accessList },
    authorizationList: fc.array(authorization, { minLength: 1, maxLength: 3 }),
  }),
}

const sign = (tx: UnsignedTransaction) => encodeSigned(tx, signHash(signingHash(tx), KEY))

describe.each(Object.entries(TRANSACTIONS))('a %s transaction', (_, transactions) => {
  const holds = (predicate: (tx: UnsignedTransaction, raw: Uint8Array) => void) =>
    fc.assert(
      fc.property(transactions, (tx) => predicate(tx, sign(tx))),
      { numRuns: propertyRuns(100) },
    )

  it('decodes to the original fields and the signer', () => {
    holds((tx, raw) => {
      expect(senderOf(raw)).toBe(SENDER)
      if (tx.type === 3) {
        expect(new TransactionReader(raw)).toMatchObject({
          ...{ type: 3, to: tx.to, nonce: tx.nonce, accessList: tx.accessList },
          blobVersionedHashes: tx.blobVersionedHashes,
        })
        return
      }
      const decoded = decodeTransaction(raw)
      expect(decoded).toMatchObject({ ...tx, hash: keccak256Hex(raw), from: SENDER, raw })
      if (decoded.type !== 0x7d && decoded.type !== 0x7e) expect(encodeTransaction(decoded)).toEqual(raw)
    })
  })

  it('is encoded from its JSON', () => {
    holds((tx, raw) => {
      const reader = new TransactionReader(raw)
      const { v, r, s } = reader.signature
      const json =
        tx.type === 3 ? { type: '0x3', ...fieldsToJson({ ...tx, v, r, s }) } : transactionToJson(decodeTransaction(raw))
      expect(toHex(transactionFromJson(JSON.parse(JSON.stringify(json))))).toBe(toHex(raw))
    })
  })

  it("has viem's encoding", () => {
    holds((tx, raw) => {
      expect(viemEncoding(tx, raw)).toBe(toHex(raw))
    })
  })
})

/** viem's encoding of the transaction with our signature. */
function viemEncoding(tx: UnsignedTransaction, raw: Uint8Array): Hex {
  const { r, s, yParity, v } = new TransactionReader(raw).signature
  const { data, chainId = undefined, gasLimit, to, maxFeePerGas, maxPriorityFeePerGas, ...rest } = tx
  const {
    type,
    accessList,
    authorizationList = [],
    blobVersionedHashes = [],
    maxFeePerBlobGas = 0n,
    nonce,
    value,
  } = rest
  const common = { data: toHex(data), gas: gasLimit, to, nonce, value }
  const typed = { ...common, chainId: Number(chainId), accessList }
  const dynamic = { ...typed, maxFeePerGas, maxPriorityFeePerGas }
  const signature = { r: word(r), s: word(s), yParity, v }
  if (type === 0) {
    const id = chainId === undefined ? {} : { chainId: Number(chainId) }
    return serializeTransaction({ ...common, ...id, type: 'legacy', gasPrice: maxFeePerGas }, signature)
  }
  if (type === 1) return serializeTransaction({ ...typed, type: 'eip2930', gasPrice: maxFeePerGas }, signature)
  if (type === 2) return serializeTransaction({ ...dynamic, type: 'eip1559' }, signature)
  if (type === 3)
    return serializeTransaction({ ...dynamic, type: 'eip4844', maxFeePerBlobGas, blobVersionedHashes }, signature)
  const list = authorizationList.map((entry) => ({
    ...{ address: entry.address, chainId: Number(entry.chainId), nonce: Number(entry.nonce) },
    ...{ yParity: entry.yParity, r: word(entry.r), s: word(entry.s) },
  }))
  return serializeTransaction({ ...dynamic, type: 'eip7702', authorizationList: list }, signature)
}

function word(value: bigint): Hex {
  return viemHex(value, { size: 32 })
}

describe('unsigned transactions', () => {
  it('survive encoding, decoding and JSON', () => {
    const deposits: fc.Arbitrary<DepositTx> = fc.record({
      ...{ sourceHash: hex(32), from: hex(20), to: anyTo, mint: integer(256), value: integer(256), gas: integer(64) },
      ...{ isSystemTx: fc.boolean(), data: fc.uint8Array({ maxLength: 100 }) },
    })
    fc.assert(
      fc.property(deposits, (tx) => {
        const raw = encodeDepositTx(tx)
        const decoded = decodeTransaction(raw)
        const { gas, ...members } = tx
        expect(decoded).toEqual({ type: 0x7e, hash: keccak256Hex(raw), ...members, gasLimit: gas, raw })
        expect(transactionFromJson(transactionToJson(decoded))).toEqual(raw)
        expect(senderOf(raw)).toBe(tx.from)
      }),
      { numRuns: propertyRuns(100) },
    )
    const postExec = encodePostExecTx({ version: 1, blockNumber: 4, refunds: [{ index: 1, gasRefund: 2000n }] })
    expect(transactionFromJson(transactionToJson(decodeTransaction(postExec)))).toEqual(postExec)
  })
})

describe('the network form of a blob transaction', () => {
  const raw = encodeTypedRlp(3, [1, 2])
  const blobs = [new Uint8Array(40).fill(1), new Uint8Array(40).fill(2)]
  const sidecar = { blobs, commitments: [Uint8Array.of(3), Uint8Array.of(4)], proofs: [Uint8Array.of(5)] }

  it.each([0, 1] as const)('contains the transaction and its blobs: version %i', (version) => {
    expect(readNetworkForm(networkForm(raw, { ...sidecar, version }))).toEqual({ raw, blobs, offset: 2 })
  })

  it('does not exist for a transaction without blobs, or of another type', () => {
    expect(readNetworkForm(raw)).toBeUndefined()
    expect(readNetworkForm(encodeTypedRlp(2, [[1], [2]]))).toBeUndefined()
  })
})

describe('the example of EIP-155', () => {
  it('is read with its chain id and its sender', () => {
    const raw = fromHex(
      '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
    )
    expect(decodeTransaction(raw)).toMatchObject({
      ...{ type: 0, chainId: 1n, nonce: 9, maxFeePerGas: 20_000_000_000n, gasLimit: 21_000n, value: 10n ** 18n },
      ...{ to: `0x${'35'.repeat(20)}`, v: 37n, yParity: 0, from: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f' },
    })
  })
})

describe.each(['granite-singular-zlib-calldata', 'holocene-span-brotli-calldata', '2026-holocene-to-karst-blobs'])(
  'transactions of op-geth: %s',
  (name) => {
    const { l2, l2RawTransactions } = loadAnswers(name)

    it('have their recorded encoding, and decode to the same fields', () => {
      const types = new Set<number>()
      for (const [number, { transactions }] of l2.entries()) {
        for (const [index, json] of transactions.entries()) {
          const raw = transactionFromJson(json)
          expect(toHex(raw)).toBe(l2RawTransactions[number]?.[index] ?? toHex(raw))
          const transaction = decodeTransaction(raw)
          expect(json).toMatchObject(transactionToJson(transaction))
          types.add(transaction.type)
        }
      }
      expect([...types].sort()).toEqual([0, 0x7e, 1, 2].sort())
    })
  },
)

/** Blocks from op-geth, and its encodings of their transactions. */
function loadAnswers(name: string): { l2: { transactions: unknown[] }[]; l2RawTransactions: (string | null)[][] } {
  const url = new URL(`../../../../test/vectors/data/op-node-${name}.json.gz`, import.meta.url)
  return JSON.parse(gunzipSync(readFileSync(url)).toString())
}

describe('transaction types that L2 refuses', () => {
  const tx: UnsignedTransaction = {
    ...{ type: 2, chainId: 901n, nonce: 0, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n },
    ...{ to: SENDER, value: 0n, data: new Uint8Array(0), accessList: [] },
  }
  const { v, r, s } = new TransactionReader(sign(tx)).signature
  it.each([
    { id: 'the upper of the two s', changes: { s: SECP256K1_ORDER - s }, named: 'signature' },
    { id: 'r of zero', changes: { r: 0n }, named: 'signature' },
    { id: 'r of the order', changes: { r: SECP256K1_ORDER }, named: 'signature' },
    { id: 's of zero', changes: { s: 0n }, named: 'signature' },
    { id: 'a parity of 2', changes: { v: 2n }, named: 'signature' },
    { id: 'v of 26', changes: { type: 0, v: 26n }, named: 'signature' },
    { id: 'v of 34', changes: { type: 0, v: 34n }, named: 'signature' },
    { id: 'a nonce of 2^53', changes: { nonce: 2 ** 53 }, named: '2^53-1' },
    {
      id: 'a blob transaction',
      changes: { type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: [] },
      named: 'type 3',
    },
    {
      id: 'a set-code transaction that creates',
      changes: { type: 4, to: null, authorizationList: [] },
      named: 'create',
    },
  ] as const)('is refused: $id', ({ changes, named }) => {
    const raw = encodeTransaction({ ...tx, v, r, s, ...changes })
    expect(() => decodeSignedTransaction(raw)).toThrow(errorWith('decode', named))
  })
})

describe('a malformed transaction', () => {
  const list: RlpInput[] = [1, 5, 7, 9, 21_000, new Uint8Array(20), 1, Uint8Array.of(9, 9), [], 0, 3, 4]
  const changed = (index: number, value: RlpInput) => encodeTypedRlp(2, list.with(index, value))
  it.each([
    { id: 'nothing', raw: new Uint8Array(0), at: 0, named: 'transaction' },
    { id: 'a type byte of 0', raw: encodeTypedRlp(0, list), at: 0, named: 'type byte 0' },
    { id: 'an unknown type', raw: encodeTypedRlp(5, list), at: 0, named: 'type 5' },
    { id: 'no list', raw: Uint8Array.of(2, 0x80), at: 1, named: 'transaction' },
    {
      id: 'a byte too many',
      raw: concatBytes(encodeTypedRlp(2, list), Uint8Array.of(0)),
      at: 38,
      named: '1 bytes',
    },
    { id: 'a leading zero', raw: changed(1, Uint8Array.of(0, 1)), at: 4, named: 'nonce' },
    { id: 'a long gas limit', raw: changed(4, 2n ** 64n), at: 6, named: 'gas' },
    { id: 'a short recipient', raw: changed(5, new Uint8Array(19)), at: 9, named: 'to: 19' },
    { id: 'an access list that is none', raw: changed(8, 1), at: 34, named: 'accessList' },
    { id: 'a field too few', raw: encodeTypedRlp(2, list.slice(0, -1)), at: 37, named: 'transaction s' },
    { id: 'a field too many', raw: encodeTypedRlp(2, [...list, 1]), at: 38, named: 'type' },
    { id: 'a list as data', raw: changed(7, [1]), at: 31, named: 'input' },
  ])('is refused at the right byte: $id', ({ raw, at, named }) => {
    const read = () => new TransactionReader(raw)
    expect(read).toThrow(errorWith('decode', named))
    expect(read).toThrow(expect.objectContaining({ at }))
  })

  it.each([
    ['no object', 'x', 'transaction'],
    ['an unknown type', { type: '0x55' }, 'type 85'],
    ['a quantity of 33 bytes', { type: '0x0', nonce: `0x${'11'.repeat(33)}` }, 'nonce'],
    ['a quantity without digits', { nonce: '0x' }, 'nonce'],
    ['a quantity of other letters', { nonce: '0xg1' }, 'nonce'],
    ['a number', { nonce: 1 }, 'nonce'],
    ['post-exec without input', { type: '0x7d' }, 'input'],
  ])('is refused in JSON: %s', (_, json, named) => {
    expect(() => transactionFromJson(json)).toThrow(errorWith('decode', named))
  })

  it('throws DecodeError, for any bytes', () => {
    const good = encodeRlp([1, 2, 3, new Uint8Array(20), 4, new Uint8Array(60), 27, 1, 1])
    const mutation = fc.tuple(fc.nat(good.length - 1), fc.nat(255))
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.array(mutation, { minLength: 1, maxLength: 4 })), (input) => {
        const raw = input instanceof Uint8Array ? input : good.slice()
        if (!(input instanceof Uint8Array)) for (const [index, byte] of input) raw[index] = byte
        expectDecodeErrorOrDone(() => decodeTransaction(raw))
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})
