import { defaultCrypto } from '@chainsafe/libp2p-noise/crypto'
import { describe, expect, it } from 'vitest'
import { noiseCrypto } from './noiseCrypto.ts'

const key = new Uint8Array(32).fill(7)
const nonce = new Uint8Array(12).fill(3)
const none = new Uint8Array(0)
const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index * 31)

describe('noiseCrypto', () => {
  it.each([0, 1, 70, 511, 512, 513, 1200, 65_519])('encrypts and decrypts %i bytes as the library does', (length) => {
    for (const ad of [none, bytes(32)]) {
      const expected = defaultCrypto.chaCha20Poly1305Encrypt(bytes(length), nonce, ad, key).subarray()
      const sealed = noiseCrypto.chaCha20Poly1305Encrypt(bytes(length), nonce, ad, key).subarray()
      expect(Buffer.compare(sealed, expected)).toBe(0)
      const opened = noiseCrypto.chaCha20Poly1305Decrypt(Uint8Array.from(sealed), nonce, ad, key).subarray()
      expect(Buffer.compare(opened, bytes(length))).toBe(0)
    }
  })

  it.each([70, 5_000])('refuses %i bytes that were changed, or encrypted with another key or nonce', (length) => {
    const sealed = noiseCrypto.chaCha20Poly1305Encrypt(bytes(length), nonce, none, key).subarray()
    const open = (text: Uint8Array, withNonce: Uint8Array = nonce, withKey: Uint8Array = key): unknown =>
      noiseCrypto.chaCha20Poly1305Decrypt(Uint8Array.from(text), withNonce, none, withKey)
    for (const index of [0, length - 1, length, sealed.length - 1]) {
      const changed = Uint8Array.from(sealed)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(() => open(changed)).toThrow()
    }
    expect(() => open(sealed, bytes(12))).toThrow()
    expect(() => open(sealed, nonce, bytes(32))).toThrow()
    expect(() => open(sealed.subarray(0, 10))).toThrow()
    expect(open(sealed)).toBeDefined()
  })
})
