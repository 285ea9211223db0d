import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import {
  compare,
  LITTLE_GAS,
  ours,
  prague,
  Random,
  RUNS,
  SEED,
  TIME_LIMIT_MS,
  withDamage,
} from './testUtils/differential.ts'

describe(`BLAKE2F (seed ${SEED})`, { timeout: TIME_LIMIT_MS }, () => {
  it('returns the same result as EthereumJS', async () => {
    const random = new Random(SEED + 9)
    const make = () => {
      const rounds = random.pick(0, 1, 9, 10, 11, 12, 20, 1000, random.below(300))
      return concatBytes(bigIntToBytes(BigInt(rounds), 4), random.bytes(208), Uint8Array.of(random.pick(0, 1, 2)))
    }
    const run = ours('isthmus')(9)
    expect(await compare(prague(9), run, withDamage(random, make), LITTLE_GAS)).toBeGreaterThan(RUNS / 8)
    expect(await compare(prague(9), run, withDamage(random, make), 12n)).toBeGreaterThan(RUNS / 12)
  })

  it('continues in the next step where it stopped', async () => {
    const random = new Random(SEED + 10)
    const input = concatBytes(bigIntToBytes(250_003n, 4), random.bytes(208), Uint8Array.of(1))
    expect(await compare(prague(9), ours('isthmus')(9), [input])).toBe(1)
  })
})
