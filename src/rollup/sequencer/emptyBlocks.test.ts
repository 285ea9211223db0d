import { describe, expect, it } from 'vitest'
import { FORKS, type Fork, type L1BlockRef, type RollupConfig, ZERO_HASH } from '../protocol/types.ts'
import { mustBeEmpty } from './emptyBlocks.ts'

const ACTIVATION = 1000
const origin = (timestamp: number): L1BlockRef => ({ hash: ZERO_HASH, number: 1, parentHash: ZERO_HASH, timestamp })

/** A chain that activates this fork at ACTIVATION, with all earlier forks active before. */
function chainWith(fork: Fork): RollupConfig {
  const earlier = FORKS.slice(0, FORKS.indexOf(fork))
  const forks = { ...Object.fromEntries(earlier.map((name) => [name, 0])), [fork]: ACTIVATION }
  return { blockTime: 2, maxSequencerDrift: 600, forks } as RollupConfig
}

describe('mustBeEmpty', () => {
  it.each(['ecotone', 'fjord', 'isthmus', 'jovian', 'karst', 'lagoon'] as const)(
    'is true for the first block of %s',
    (fork) => {
      const config = chainWith(fork)
      const at = (time: number) => mustBeEmpty(config, time, origin(time - 10))
      expect([at(ACTIVATION - 2), at(ACTIVATION), at(ACTIVATION + 2)]).toEqual([false, true, false])
      // The activation is between two blocks: the second is the first block of the fork.
      expect(
        mustBeEmpty({ ...config, forks: { ...config.forks, [fork]: ACTIVATION - 1 } }, ACTIVATION, origin(990)),
      ).toBe(true)
    },
  )

  it.each(['regolith', 'canyon', 'delta', 'granite', 'holocene'] as const)(
    'is false for the first block of %s',
    (fork) => {
      expect(mustBeEmpty(chainWith(fork), ACTIVATION, origin(990))).toBe(false)
    },
  )

  it('is true for a block too far from its origin', () => {
    const before = chainWith('ecotone')
    expect(mustBeEmpty(before, 700, origin(100))).toBe(false)
    expect(mustBeEmpty(before, 702, origin(100))).toBe(true)
    // 1800 s since Fjord, by the time of the origin.
    const fjord = chainWith('granite')
    expect(mustBeEmpty(fjord, 2900, origin(1100))).toBe(false)
    expect(mustBeEmpty(fjord, 2902, origin(1100))).toBe(true)
  })
})
