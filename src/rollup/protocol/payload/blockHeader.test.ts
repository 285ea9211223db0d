import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { decodeRlp, encodeRlp, rlpList } from '../../../lib/rlp.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH } from '../constants.ts'
import { ZERO_HASH } from '../types.ts'
import {
  type BlockHeader,
  blockHeaderFromJson,
  blockHeaderHash,
  decodeBlockHeader,
  encodeBlockHeader,
} from './blockHeader.ts'

/** Ethereum's genesis block: a header without optional members. */
const ETHEREUM_GENESIS: BlockHeader = {
  parentHash: ZERO_HASH,
  unclesHash: EMPTY_UNCLES_HASH,
  coinbase: `0x${'00'.repeat(20)}`,
  stateRoot: '0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544',
  transactionsRoot: EMPTY_TRIE_ROOT,
  receiptsRoot: EMPTY_TRIE_ROOT,
  logsBloom: `0x${'00'.repeat(256)}`,
  difficulty: 17_179_869_184n,
  number: 0,
  gasLimit: 5000n,
  gasUsed: 0n,
  timestamp: 0,
  extraData: '0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa',
  mixHash: ZERO_HASH,
  nonce: '0x0000000000000042',
}

/** Blocks 19 to 21 and 55 of go-ethereum 1.17.10, where Glamsterdam begins with block 20. */
const GLAMSTERDAM_BLOCKS: { number: number; block: unknown; rlp: Hex; fields: number; hash: Hex }[] = JSON.parse(
  gunzipSync(
    readFileSync(new URL('../../../../test/vectors/data/glamsterdam-headers.json.gz', import.meta.url)),
  ).toString(),
)

describe('block header', () => {
  it('hashes to the known hash of a known block', () => {
    expect(blockHeaderHash(ETHEREUM_GENESIS)).toBe('0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3')
  })

  it('survives encoding and decoding with the members of any fork', () => {
    fc.assert(
      fc.property(arbitraryHeader(), (header) => {
        expect(decodeBlockHeader(encodeBlockHeader(header))).toEqual(header)
      }),
    )
  })

  it('refuses changed bytes with DecodeError, or re-encodes them unchanged', () => {
    fc.assert(
      fc.property(arbitraryHeader(), fc.nat(), fc.nat(255), (header, at, byte) => {
        const bytes = encodeBlockHeader(header).slice()
        bytes[at % bytes.length] = byte
        expectDecodeErrorOrDone(() => expect(toHex(encodeBlockHeader(decodeBlockHeader(bytes)))).toBe(toHex(bytes)))
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it.each(GLAMSTERDAM_BLOCKS)(
    'encodes L1 block $number around Glamsterdam with its $fields fields',
    ({ block, rlp, hash }) => {
      const header = blockHeaderFromJson(block)
      expect(toHex(encodeBlockHeader(header))).toBe(rlp)
      expect(decodeBlockHeader(fromHex(rlp))).toEqual(header)
      expect(blockHeaderHash(header)).toBe(hash)
    },
  )

  it('refuses a missing member before a later one', () => {
    expect(() => encodeBlockHeader({ ...ETHEREUM_GENESIS, withdrawalsRoot: ZERO_HASH })).toThrow(DecodeError)
  })

  it('has 15 to 23 fields', () => {
    const [, , last] = GLAMSTERDAM_BLOCKS
    const fields = rlpList(decodeRlp(fromHex(last?.rlp ?? '0x')), 'header')
    const decode = (count: number) => decodeBlockHeader(encodeRlp([...fields, 1].slice(0, count)))
    for (const count of [15, 23]) expect(() => decode(count)).not.toThrow()
    for (const count of [14, 24]) expect(() => decode(count)).toThrow(errorWith('decode', count))
  })

  it('names a missing member of a JSON block', () => {
    expect(() => blockHeaderFromJson({ parentHash: ZERO_HASH })).toThrow(errorWith('decode', 'block.sha3Uncles:'))
    expect(() => blockHeaderFromJson(null)).toThrow(DecodeError)
  })
})

function arbitraryHeader(): fc.Arbitrary<BlockHeader> {
  const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex)
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  const base = fc.record({
    parentHash: hex(32),
    unclesHash: hex(32),
    coinbase: hex(20),
    stateRoot: hex(32),
    transactionsRoot: hex(32),
    receiptsRoot: hex(32),
    logsBloom: hex(256),
    difficulty: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    number: fc.maxSafeNat(),
    gasLimit: u64,
    gasUsed: u64,
    timestamp: fc.maxSafeNat(),
    extraData: fc.uint8Array({ maxLength: 40 }).map(toHex),
    mixHash: hex(32),
    nonce: hex(8),
  })
  const later = fc.record({
    baseFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    withdrawalsRoot: hex(32),
    blobGasUsed: u64,
    excessBlobGas: u64,
    parentBeaconBlockRoot: hex(32),
    requestsHash: hex(32),
    blockAccessListHash: hex(32),
    slotNumber: fc.maxSafeNat(),
  })
  return fc
    .tuple(base, later, fc.nat(8))
    .map(([header, members, count]) => ({ ...header, ...Object.fromEntries(Object.entries(members).slice(0, count)) }))
}
