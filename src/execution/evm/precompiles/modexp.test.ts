import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import {
  compare,
  LITTLE_GAS,
  osaka,
  ours,
  prague,
  Random,
  RUNS,
  SEED,
  TIME_LIMIT_MS,
  withDamage,
} from './testUtils/differential.ts'

describe(`MODEXP (seed ${SEED})`, { timeout: TIME_LIMIT_MS }, () => {
  const word = (value: number) => bigIntToBytes(BigInt(value), 32)
  function make(random: Random, longest: number): Uint8Array {
    const length = () => random.pick(0, 1, 4, 8, 9, 31, 32, 33, random.below(longest))
    const [base, exponent, modulus] = [length(), Math.min(length(), 80), length()]
    const number = (bytes: number) => {
      const value = random.chance(0.2) ? new Uint8Array(bytes) : random.bytes(bytes)
      if (random.chance(0.1)) value.fill(0xff)
      return value
    }
    const last = number(modulus)
    // Odd, even, a power of two.
    const kind = random.below(4)
    if (modulus > 0 && kind === 0) last[modulus - 1] = (last[modulus - 1] ?? 0) | 1
    if (modulus > 0 && kind === 1) last.fill(0, Math.floor(modulus / 2))
    if (modulus > 0 && kind === 2) last.fill(0, 1)
    return concatBytes(word(base), word(exponent), word(modulus), number(base), number(exponent), last)
  }

  it.each([
    { fork: 'isthmus' as const, reference: () => prague(5) },
    { fork: 'karst' as const, reference: () => osaka(5) },
  ])('returns the same result as EthereumJS under $fork', async ({ fork, reference }) => {
    const random = new Random(SEED + 5)
    const run = ours(fork)(5)
    const inputs = function* () {
      for (let round = 0; round < 20; round++) yield* withDamage(random, () => make(random, 100))
      for (let round = 0; round < RUNS / 4; round++) yield make(random, 300)
      yield make(random, 1100)
    }
    expect(await compare(reference(), run, inputs(), LITTLE_GAS)).toBeGreaterThan(RUNS)
  })

  it('computes an exponent that takes many steps', async () => {
    const random = new Random(SEED + 6)
    for (const modulus of [random.bytes(8), concatBytes(random.bytes(7), Uint8Array.of(0)), random.bytes(300)]) {
      const bytes = modulus.length > 100 ? 600 : 20_000
      const lengths = [word(8), word(bytes), word(modulus.length)]
      const input = concatBytes(...lengths, random.bytes(8), random.bytes(bytes), modulus)
      expect(await compare(prague(5), ours('isthmus')(5), [input])).toBe(1)
    }
  })
})
