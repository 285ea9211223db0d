import { describe, expect, it } from 'vitest'
import { toHex } from '../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { DEV_ADDRESSES, DEV_KEYS, signAuthorization } from '../testUtils/signTransaction.ts'
import { decodeAuthorizations } from './authorization.ts'

const ADDRESS = new Uint8Array(20).fill(0xab)
const FIELDS: readonly RlpInput[] = [10n, ADDRESS, 7n, 1n, 2n ** 255n, 3n]

function decode(...entries: RlpInput[]) {
  return decodeAuthorizations(encodeRlp(entries))
}

function withField(index: number, value: RlpInput): RlpInput {
  return FIELDS.with(index, value)
}

describe('an authorization list', () => {
  it('is decoded with each entry in its place', () => {
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
    const signed = signAuthorization(DEV_KEYS[1], { address: toHex(ADDRESS) })
    const [chainId = 0n, nonce = 0n, yParity = 0n, r = 0n, s = 0n] = ['chainId', 'nonce', 'yParity', 'r', 's'].map(
      (name) => BigInt(signed[name] ?? 0),
    )
    const [good, bad] = decode(
      [chainId, ADDRESS, nonce, yParity, r, s],
      [chainId, ADDRESS, nonce, yParity, r, 2n ** 256n - 1n],
    )
    expect(good?.authority).toBe(DEV_ADDRESSES[1])
    expect(bad?.authority).toBeUndefined()
  })

  it.each([
    [0, 32, 'authorization chain id'],
    [2, 8, 'authorization nonce'],
    [3, 1, 'authorization parity'],
    [4, 32, 'authorization r'],
    [5, 32, 'authorization s'],
  ])('takes integers of as many bytes as field %i may have (%i), without leading zeros', (index, most, what) => {
    expect(() => decode(withField(index, new Uint8Array(most).fill(0xff)))).not.toThrow()
    expect(() => decode(withField(index, new Uint8Array(most + 1).fill(0xff)))).toThrow(
      `${what}: integer is longer than ${most} bytes`,
    )
    expect(() => decode(withField(index, new Uint8Array(1)))).toThrow(`${what}: integer has leading zeros`)
    expect(() => decode(withField(index, []))).toThrow(`${what}: expected a byte string`)
  })

  it.each([0, 19, 21])('refuses an address of %i bytes', (length) => {
    expect(() => decode(withField(1, new Uint8Array(length).fill(1)))).toThrow(
      `authorization address: expected 20 bytes, got ${length}`,
    )
  })

  it('refuses entries with fields too few or too many, and what is no list', () => {
    expect(() => decode(FIELDS.slice(0, 5))).toThrow('authorization: expected 6 items, got 5')
    expect(() => decode([...FIELDS, 1n])).toThrow('authorization: expected 6 items, got 7')
    expect(() => decode([])).toThrow('authorization: expected 6 items, got 0')
    expect(() => decode(5n)).toThrow('authorization: expected a list')
    expect(() => decodeAuthorizations(encodeRlp(5n))).toThrow('authorization list: expected a list')
    expect(() => decode()).toThrow('empty authorization list')
  })

  it('refuses a field that is longer than its entry', () => {
    // Its last field is an r that says that it has eight bytes; they are in the list, after the entry.
    const entry = Uint8Array.from([0xc0 + 25, 0x0a, 0x94, ...ADDRESS, 0x07, 0x01, 0x88])
    const list = Uint8Array.from([0xc0 + entry.length + 8, ...entry, ...new Uint8Array(8).fill(1)])
    expect(() => decodeAuthorizations(list)).toThrow('rlp: ')
  })
})
