import { generateKeyPairSync, sign } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { sha256 } from '../../../lib/hash.ts'
import { compare, osaka, ours, Random, RUNS, SEED, TIME_LIMIT_MS, withDamage } from './testUtils/differential.ts'

describe(`P256VERIFY (seed ${SEED})`, { timeout: TIME_LIMIT_MS }, () => {
  const n = p256.Point.Fn.ORDER
  const { p } = p256.Point.CURVE()
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const key = concatBytes(Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url'))

  it('accepts what EthereumJS accepts', async () => {
    const random = new Random(SEED + 0x100)
    const make = () => {
      const message = random.bytes(20)
      const signature = sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      const input = concatBytes(sha256(message), signature, key)
      if (random.chance(0.6)) return input
      // One of the five words is wrong.
      const value = random.pick(0n, 1n, n - 1n, n, n + 1n, p - 1n, p, p + 1n, 2n ** 256n - 1n)
      const at = random.below(5) * 32
      return concatBytes(input.subarray(0, at), bigIntToBytes(value, 32), input.subarray(at + 32))
    }
    expect(await compare(osaka(0x100), ours('karst')(0x100), withDamage(random, make))).toBeGreaterThan(RUNS / 8)
  })

  it('verifies a hash of zero, and sums that are a doubling or the point at infinity', async () => {
    // With the private key 1 the key is the generator; s = r k^-1 e^-1 ... are chosen for u1 and u2.
    const G = p256.Point.BASE
    const inputs: Uint8Array[] = []
    for (const [u1, u2, d] of [
      [0n, 5n, 3n],
      [7n, 7n, 1n],
      [7n, n - 7n, 1n],
      [1n, 1n, 1n],
      [21n, 7n, 3n],
      [n - 21n, 7n, 3n],
      [5n, 9n, n - 1n],
    ] as const) {
      const total = (u1 + u2 * d) % n
      const sum = total === 0n ? undefined : G.multiply(total).toAffine().x % n
      const r = sum ?? 12345n
      const s = (r * p256.Point.Fn.inv(u2)) % n
      const hash = (u1 * s) % n
      const publicPoint = G.multiply(d).toAffine()
      const words = [hash, r, s, publicPoint.x, publicPoint.y]
      inputs.push(concatBytes(...words.map((value) => bigIntToBytes(value, 32))))
    }
    expect(await compare(osaka(0x100), ours('karst')(0x100), inputs)).toBe(inputs.length - 2)
  })
})
