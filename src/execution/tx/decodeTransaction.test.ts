import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { fromHex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { loadRecordedRpc, RECORDINGS, recordedTransactions } from '../testUtils/recordedRpc.ts'
import { signTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'
import { createAddress, decodeSignedTransaction, decodeTransaction } from './decodeTransaction.ts'

describe('decodeTransaction', () => {
  it('reads the example of EIP-155', () => {
    const raw = fromHex(
      '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
    )
    expect(decodeTransaction(raw)).toMatchObject({
      type: 0,
      chainId: 1n,
      nonce: 9,
      maxFeePerGas: 20_000_000_000n,
      gasLimit: 21_000n,
      to: `0x${'35'.repeat(20)}`,
      value: 10n ** 18n,
      v: 37n,
      yParity: 0,
      from: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f',
    })
  })

  it.each(RECORDINGS)('finds hash and sender of every transaction of %s', (name) => {
    const recording = loadRecordedRpc(name)
    let types = 0
    for (const [number, block] of recording.blocks.entries()) {
      const decoded = recordedTransactions(recording, number).map((raw) => decodeTransaction(raw))
      for (const tx of decoded) types |= 1 << (tx.type === 0x7e ? 7 : tx.type)
      expect(decoded.map(({ hash, from }) => ({ hash, from }))).toEqual(
        block.transactions.map(({ hash, from }) => ({ hash, from })),
      )
    }
    // Legacy, access list, dynamic fee and deposits are all there.
    expect(types).toBe(0b1000_0111)
  })

  const good = signTransaction(testKey(1)).raw
  const fields = decodeRlp(good.subarray(1)) as Uint8Array[]
  const changed = (index: number, value: RlpInput) =>
    concatBytes(Uint8Array.of(2), encodeRlp(fields.map((field, i): RlpInput => (i === index ? value : field))))
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = BigInt(toHex(fields[11] ?? new Uint8Array()))

  it.each([
    { id: 'nothing', raw: new Uint8Array(), message: 'empty' },
    { id: 'a blob transaction', raw: concatBytes(Uint8Array.of(3), good.subarray(1)), message: 'type not supported' },
    { id: 'a byte too many', raw: concatBytes(good, Uint8Array.of(0)), message: 'after the item' },
    { id: 'the upper of the two s', raw: changed(11, ORDER - s), message: 'invalid signature' },
    { id: 'r of zero', raw: changed(10, 0), message: 'invalid signature' },
    { id: 'r of the order', raw: changed(10, ORDER), message: 'invalid signature' },
    { id: 'a parity of 2', raw: changed(9, 2), message: 'invalid signature' },
    { id: 'a nonce with leading zeros', raw: changed(1, Uint8Array.of(0, 1)), message: 'leading zeros' },
    { id: 'a recipient of 19 bytes', raw: changed(5, new Uint8Array(19)), message: '19 bytes' },
    { id: 'an access list that is none', raw: changed(8, 1), message: 'list' },
    {
      id: 'a set-code transaction in its fields',
      raw: concatBytes(Uint8Array.of(4), good.subarray(1)),
      message: '13 items',
    },
  ])('refuses $id', ({ raw, message }) => {
    expect(() => decodeSignedTransaction(raw)).toThrow(DecodeError)
    expect(() => decodeSignedTransaction(raw)).toThrow(message)
  })

  it('fails only by DecodeError, whatever the bytes', () => {
    const mutation = fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 }))
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.array(mutation, { minLength: 1, maxLength: 4 })), (input) => {
        const raw = input instanceof Uint8Array ? input : Uint8Array.from(good)
        if (!(input instanceof Uint8Array)) for (const [index, byte] of input) raw[index] = byte
        try {
          decodeTransaction(raw)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})

describe('createAddress', () => {
  it('is that of the first contracts of a well-known account', () => {
    // Hardhat's and Anvil's first account deploys here.
    const sender = fromHex('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
    expect(createAddress(sender, 0n)).toBe('0x5fbdb2315678afecb367f032d93f642f64180aa3')
    expect(createAddress(sender, 1n)).toBe('0xe7f1725e7734ce288f8367e1bb143e90bb3f0512')
    expect(testAddress(1)).toBe('0x7e5f4552091a69125d5dfcb7b8c2659029395bdf')
  })
})
