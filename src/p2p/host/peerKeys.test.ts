import { publicKeyFromRaw } from '@libp2p/crypto/keys'
import { secp256k1 as noble } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const { p: FIELD } = noble.Point.CURVE()
const x32 = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
  // Around the field's order, where a value is not a valid coordinate.
  fc.bigInt(FIELD - 20n, FIELD + 20n).map((x) => Uint8Array.from(Buffer.from(x.toString(16).padStart(64, '0'), 'hex'))),
)
/** About half of them are on the curve. */
const key = fc.tuple(fc.constantFrom(0, 2, 3, 4, 6), x32).map(([head, x]) => Uint8Array.of(head, ...x))

function point(bytes: Uint8Array): string {
  try {
    return Buffer.from(noble.Point.fromBytes(bytes).toBytes()).toString('hex')
  } catch {
    return 'none'
  }
}

function peerKey(bytes: Uint8Array): string {
  try {
    return Buffer.from(publicKeyFromRaw(bytes).raw).toString('hex')
  } catch (error) {
    return error instanceof Error && error.name === 'InvalidPublicKeyError' ? 'none' : `${error}`
  }
}

describe('public keys of peers', () => {
  it('are accepted exactly if the audited library accepts them as points', () => {
    fc.assert(fc.property(key, (bytes) => peerKey(bytes) === point(bytes)))
  })

  it('are copied, so that they do not keep the received message in memory', () => {
    const message = new Uint8Array(64 * 1024)
    message.set(noble.getPublicKey(Uint8Array.of(...new Uint8Array(31), 1)))
    expect(publicKeyFromRaw(message.subarray(0, 33)).raw.buffer.byteLength).toBe(33)
  })
})
