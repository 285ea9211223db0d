import { describe, expect, it } from 'vitest'
import { bytesToBigInt } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { toHex } from '../../../lib/hex.ts'
import { encodeRlp, encodeTypedRlp, type RlpInput } from '../../../lib/rlp.ts'
import { privateKeyToAddress, signHash } from '../../../lib/secp256k1.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { decodeSignedTransaction } from '../index.ts'

const ADDRESS = new Uint8Array(20).fill(0xab)
const FIELDS: readonly RlpInput[] = [10n, ADDRESS, 7n, 1n, 2n ** 255n, 3n]

function decode(...entries: RlpInput[]) {
  return decodeList(entries)
}

/** The decoded list of a set-code transaction whose other fields are valid. */
function decodeList(list: RlpInput) {
  const fields = [901, 0, 1, 2, 50_000, ADDRESS, 0, new Uint8Array(0), [], list, 0, 1, 1]
  return decodeSignedTransaction(encodeTypedRlp(4, fields), toHex(ADDRESS)).authorizationList ?? []
}

function withField(index: number, value: RlpInput): RlpInput {
  return FIELDS.with(index, value)
}

describe('an authorization list', () => {
  it('is decoded with each field of each entry', () => {
    const [first, second] = decode([...FIELDS], withField(2, 0n))
    const { chainId, address, nonce, yParity, r, s } = first ?? {}
    expect({ chainId, address, nonce, yParity, r, s }).toEqual({
      chainId: 10n,
      address: toHex(ADDRESS),
      nonce: 7n,
      yParity: 1,
      r: 2n ** 255n,
      s: 3n,
    })
    expect(second?.nonce).toBe(0n)
  })

  it('has the signer of each entry', () => {
    const key = new Uint8Array(32).fill(7)
    const signature = signHash(keccak256(encodeTypedRlp(5, [0n, ADDRESS, 3n])), key)
    const [r, s] = [bytesToBigInt(signature.r), bytesToBigInt(signature.s)]
    const [good, bad] = decode(
      [0n, ADDRESS, 3n, signature.yParity, r, s],
      [0n, ADDRESS, 3n, signature.yParity, r, 2n ** 256n - 1n],
    )
    expect(good?.authority).toBe(privateKeyToAddress(key))
    expect(bad?.authority).toBeUndefined()
  })

  it.each([
    [0, 32, 'authorization chainId'],
    [2, 8, 'authorization nonce'],
    [3, 1, 'authorization yParity'],
    [4, 32, 'authorization r'],
    [5, 32, 'authorization s'],
  ])('accepts integers up to the size of field %i (%i bytes), without leading zeros', (index, most, what) => {
    expect(() => decode(withField(index, new Uint8Array(most).fill(0xff)))).not.toThrow()
    expect(() => decode(withField(index, new Uint8Array(most + 1).fill(0xff)))).toThrow(errorWith('decode', what, most))
    expect(() => decode(withField(index, new Uint8Array(1)))).toThrow(errorWith('decode', what, 'leading zeros'))
    expect(() => decode(withField(index, []))).toThrow(errorWith('decode', what, 'byte string'))
  })

  it.each([0, 19, 21])('refuses an address of %i bytes', (length) => {
    expect(() => decode(withField(1, new Uint8Array(length).fill(1)))).toThrow(
      errorWith('decode', 'authorization address', 20, length),
    )
  })

  it('refuses entries with a wrong number of fields, and values that are not a list', () => {
    expect(() => decode(FIELDS.slice(0, 5))).toThrow(errorWith('decode', 'authorization s:'))
    expect(() => decode([...FIELDS, 1n])).toThrow(errorWith('decode', 'authorization:'))
    expect(() => decode([])).toThrow(errorWith('decode', 'authorization chainId:'))
    expect(() => decode(5n)).toThrow(errorWith('decode', 'authorization:'))
    expect(() => decodeList(5n)).toThrow(errorWith('decode', 'authorizationList:'))
    expect(() => decode()).toThrow(errorWith('decode'))
  })

  it('refuses a field that is longer than its entry', () => {
    const raw = encodeTypedRlp(4, [901, 0, 1, 2, 50_000, ADDRESS, 0, new Uint8Array(0), [], [[...FIELDS]], 0, 1, 1])
    // The entry's last field, an s of one byte, claims to be longer: its bytes would lie after the entry.
    const at = Buffer.from(raw).indexOf(encodeRlp(2n ** 255n)) + 33
    raw[at] = 0x83
    expect(() => decodeSignedTransaction(raw)).toThrow(errorWith('decode', 'authorization s:', 3, 0))
  })
})
