import { secp256k1 as noble } from '@noble/curves/secp256k1.js'
import { describe, expect, it } from 'vitest'
import { DecodeError } from './errors.ts'
import { keccak256, keccak256Hex } from './hash.ts'
import { fromHex, toHex } from './hex.ts'
import {
  decompressPublicKey,
  privateKeyToAddress,
  publicKeyOf,
  publicKeyToAddress,
  recoverCompact,
  recoverPublicKey,
  secp256k1Backend,
  signHash,
} from './secp256k1.ts'

const KEY = new Uint8Array(32).fill(0x46)
const ADDRESS = '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f'

describe('secp256k1', () => {
  it('uses the native library if its binary loads', () => {
    expect(secp256k1Backend).toBe('native')
  })

  it('signs deterministically and recovers the signer', () => {
    const hash = keccak256(new TextEncoder().encode('block'))
    const { r, s, yParity } = signHash(hash, KEY)
    const rival = noble.sign(hash, KEY, { prehash: false, format: 'recovered', lowS: true })
    expect([yParity, toHex(r), toHex(s)]).toEqual([rival[0], toHex(rival.slice(1, 33)), toHex(rival.slice(33))])
    expect(publicKeyToAddress(recoverPublicKey(hash, r, s, yParity))).toBe(ADDRESS)
    expect(privateKeyToAddress(KEY)).toBe(ADDRESS)
  })

  it('converts public keys', () => {
    expect(decompressPublicKey(publicKeyOf(KEY))).toEqual(publicKeyOf(KEY, false))
  })

  it('throws DecodeError for unrecoverable signatures', () => {
    const hash = keccak256(new Uint8Array(1))
    expect(() => recoverCompact(hash, new Uint8Array(64), 0)).toThrow(DecodeError)
    expect(() => recoverCompact(hash, new Uint8Array(64).fill(0xff), 1)).toThrow(DecodeError)
    expect(() => recoverPublicKey(hash, KEY, KEY, 27)).toThrow('recovery id is 27')
  })
})

describe('keccak256', () => {
  it('is the pre-standard padding', () => {
    expect(keccak256Hex(new Uint8Array(0))).toBe('0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
    expect(toHex(keccak256(fromHex('0xc0')))).toBe('0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347')
  })
})
