import { randomBytes } from 'node:crypto'
import { secp256k1 as noble } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, bytesToBigInt, concatBytes } from './bytes.ts'
import { DecodeError } from './errors.ts'
import type { Hex } from './hex.ts'
import { privateKeyToAddress, publicKeyOf, publicKeyToAddress, recoverCompact, signHash } from './secp256k1.ts'
import { createSignerRecovery } from './signerRecovery.ts'
import { createCurve, type KeyTable } from './wasm/curve.ts'

const { Point } = noble
const { Fn } = Point
const ORDER = Fn.ORDER
const KEY = new Uint8Array(32).fill(0x46)
/** More signatures than it takes to know a signer. */
const MANY = 20

interface Signed {
  hash: Uint8Array
  compact: Uint8Array
  yParity: number
}

function sign(hash: Uint8Array, key: Uint8Array): Signed {
  const { r, s, yParity } = signHash(hash, key)
  return { hash, compact: concatBytes(r, s), yParity }
}

function tableOf(key: Uint8Array): KeyTable {
  const table = createCurve()?.addTable()
  if (table === undefined) throw new Error('this processor has no 128-bit vectors')
  table.begin(publicKeyOf(key, false).subarray(1))
  while (!table.fill(10));
  return table
}

const isSigned = (table: KeyTable, { hash, compact, yParity }: Signed): boolean =>
  table.isSignedBy(hash, compact, yParity)

/** As the library has it. */
function recovered({ hash, compact, yParity }: Signed): Hex | undefined {
  try {
    return publicKeyToAddress(recoverCompact(hash, compact, yParity))
  } catch {
    return undefined
  }
}

/** A signature by this private key for which R = u1 G + u2 key. */
function signedWith(u1: bigint, u2: bigint, key: bigint): Signed {
  const { x, y } = Point.BASE.multiply(Fn.create(u1 + u2 * key)).toAffine()
  const r = Fn.create(x)
  const s = Fn.div(r, u2)
  const hash = bigIntToBytes(Fn.mul(u1, s), 32)
  return { hash, compact: concatBytes(bigIntToBytes(r, 32), bigIntToBytes(s, 32)), yParity: Number(y & 1n) }
}

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
const scalar = fc.bigInt({ min: 1n, max: ORDER - 1n })
/** Scalars whose digits carry, or which are close to either end. */
const oddScalar = fc.oneof(
  scalar,
  fc.bigInt({ min: 1n, max: 1000n }),
  fc.bigInt({ min: ORDER - 1000n, max: ORDER - 1n }),
  fc
    .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: -2, max: 2 }))
    .map(([n, d]) => Fn.create(2n ** BigInt(n) + BigInt(d)) || 1n),
)

describe('signatures of a known key', () => {
  const table = tableOf(KEY)
  const key = bytesToBigInt(KEY)

  it('are told from others as by recovery, whatever is signed', () => {
    fc.assert(
      fc.property(bytes32, (hash) => {
        const signed = sign(hash, KEY)
        expect(isSigned(table, signed)).toBe(true)
        expect(isSigned(table, { ...signed, yParity: 1 - signed.yParity })).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  it('with any factors of the generator and the key', () => {
    fc.assert(
      fc.property(oddScalar, oddScalar, (u1, u2) => {
        fc.pre(Fn.create(u1 + u2 * key) !== 0n)
        const signed = signedWith(u1, u2, key)
        expect(recovered(signed)).toBe(privateKeyToAddress(KEY))
        expect(isSigned(table, signed)).toBe(true)
        const { r, s, yParity } = {
          r: signed.compact.slice(0, 32),
          s: signed.compact.slice(32),
          yParity: signed.yParity,
        }
        // The other half of the signatures: s is not held to be in the lower one.
        const mirrored = {
          hash: signed.hash,
          compact: concatBytes(r, bigIntToBytes(ORDER - bytesToBigInt(s), 32)),
          yParity: 1 - yParity,
        }
        expect(isSigned(table, mirrored)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('are no longer so with any bit changed', () => {
    fc.assert(
      fc.property(bytes32, fc.integer({ min: 0, max: 96 * 8 - 1 }), (hash, bit) => {
        const signed = sign(hash, KEY)
        const all = concatBytes(hash, signed.compact)
        all[bit >> 3] = (all[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const changed = { ...signed, hash: all.slice(0, 32), compact: all.slice(32) }
        fc.pre(bytesToBigInt(all.subarray(32, 64)) < ORDER && bytesToBigInt(all.subarray(64)) < ORDER)
        expect(isSigned(table, changed)).toBe(recovered(changed) === privateKeyToAddress(KEY))
      }),
      { numRuns: 300 },
    )
  })

  it('may sign a hash above the order', () => {
    const hash = bigIntToBytes(ORDER + 5n, 32)
    expect(isSigned(table, sign(hash, KEY))).toBe(true)
    expect(isSigned(table, { ...sign(hash, KEY), hash: bigIntToBytes(5n, 32) })).toBe(true)
  })

  it('are left to recovery where the sum cannot be told', () => {
    // With the generator for a key, 3 G meets the lowest digit of 259 key, 3, and -3 G that of its negative; and with the
    // hash 0 nothing is left of the generator.
    const one = bigIntToBytes(1n, 32)
    const generator = tableOf(one)
    expect(isSigned(generator, signedWith(3n, 257n, 1n))).toBe(true)
    for (const signed of [
      signedWith(3n, 259n, 1n),
      signedWith(ORDER - 3n, 259n, 1n),
      signedWith(0n, 3n, 1n),
      signedWith(0n, 3n, key),
    ]) {
      const owner = recovered(signed)
      const recovery = createSignerRecovery()
      const expected = owner === undefined ? [] : [owner]
      expect(isSigned(owner === privateKeyToAddress(KEY) ? table : generator, signed)).toBe(false)
      for (let i = 0; i < MANY; i++) {
        expect(recovery.recover(signed.hash, signed.compact, signed.yParity, expected)).toBe(owner)
      }
    }
  })
})

describe('signer recovery', () => {
  const keys = Array.from({ length: 7 }, (_, i) => new Uint8Array(32).fill(i + 1))
  const addresses = keys.map(privateKeyToAddress)

  it('gives the signer before and after it is known, expected or not', () => {
    const recovery = createSignerRecovery()
    for (let i = 0; i < 3 * MANY; i++) {
      const stranger = sign(randomBytes(32), KEY)
      expect(recovery.recover(stranger.hash, stranger.compact, stranger.yParity, addresses)).toBe(
        privateKeyToAddress(KEY),
      )
      // Of seven that take turns, no more than four are known at a time.
      const index = i < MANY ? 0 : i % keys.length
      const { hash, compact, yParity } = sign(randomBytes(32), keys[index] ?? KEY)
      expect(recovery.recover(hash, compact, yParity, addresses)).toBe(addresses[index])
      expect(recovery.recover(hash, compact, yParity, [])).toBe(addresses[index])
    }
  })

  it('answers what nobody signed with DecodeError', () => {
    const recovery = createSignerRecovery()
    // No point of the curve has this x.
    const compact = concatBytes(bigIntToBytes(5n, 32), bigIntToBytes(1n, 32))
    for (let i = 0; i < MANY; i++) {
      const { hash, compact, yParity } = sign(randomBytes(32), KEY)
      recovery.recover(hash, compact, yParity, [privateKeyToAddress(KEY)])
    }
    expect(() => recovery.recover(KEY, compact, 0, [privateKeyToAddress(KEY)])).toThrow(DecodeError)
  })
})
