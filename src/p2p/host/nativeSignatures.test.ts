import { createHash, randomBytes } from 'node:crypto'
import { privateKeyFromRaw } from '@libp2p/crypto/keys'
import { secp256k1 as noble } from '@noble/curves/secp256k1.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { signNatively } from './nativeSignatures.ts'

const key = privateKeyFromRaw(new Uint8Array(randomBytes(32)))
const message = new Uint8Array(randomBytes(100))
const digest = createHash('sha256').update(message).digest()
/** As libp2p calls it. libp2p's own methods may be replaced already, since test files share their modules. */
const options = { prehash: false, format: 'der' } as const
const byLibrary = noble.sign(digest, key.raw, options)
const before = { sign: key.sign, verify: key.publicKey.verify }
beforeAll(() => signNatively(key))

describe('native signatures', () => {
  it('are used for existing keys and for keys created later', () => {
    const other = privateKeyFromRaw(new Uint8Array(randomBytes(32)))
    expect(other.sign).not.toBe(before.sign)
    expect(other.publicKey.verify).not.toBe(before.verify)
  })

  it('equal the library’s signatures byte for byte', async () => {
    expect(new Uint8Array(await key.sign(message))).toEqual(new Uint8Array(byLibrary))
  })

  it('are verified', async () => {
    expect(noble.verify(byLibrary, digest, key.publicKey.raw, options)).toBe(true)
    expect(await key.publicKey.verify(message, byLibrary)).toBe(true)
    expect(await key.publicKey.verify(message.subarray(1), byLibrary)).toBe(false)
    expect(await privateKeyFromRaw(new Uint8Array(32).fill(1)).publicKey.verify(message, byLibrary)).toBe(false)
    for (let at = 0; at < byLibrary.length; at++) {
      const damaged = new Uint8Array(byLibrary)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      expect(await key.publicKey.verify(message, damaged), `byte ${at}`).toBe(false)
    }
    expect(await key.publicKey.verify(message, new Uint8Array(0))).toBe(false)
  })

  it('are refused with s in the upper half, as by the library', async () => {
    const { r, s } = noble.Signature.fromBytes(byLibrary, 'der')
    const high = new noble.Signature(r, noble.Point.Fn.ORDER - s).toBytes('der')
    expect(await key.publicKey.verify(message, high)).toBe(false)
    expect(noble.verify(high, digest, key.publicKey.raw, options)).toBe(false)
  })
})
