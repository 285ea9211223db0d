import { describe, expect, it } from 'vitest'
import { flagKey } from '../shared/flags.ts'
import { checkCompatFlags, gethCompatFlags } from './gethCompatFlags.ts'
import { gethFlags } from './gethFlags.ts'

it('no flag is both implemented and ignored', () => {
  const meaningful = new Set(Object.values(gethFlags).map(({ name }) => name))
  expect(Object.values(gethCompatFlags).filter(({ name }) => meaningful.has(name))).toEqual([])
})

describe('checkCompatFlags', () => {
  it.each([
    [{ nodiscover: 'true', maxpeers: '0', syncmode: 'full' }, [], []],
    [{ nodiscover: 'false', maxpeers: '50' }, ['--maxpeers', '--nodiscover'], []],
    [{ 'rollup.disabletxpoolgossip': 'true', ipcdisable: 'true' }, [], []],
    [{ cache: '4096', http: 'true' }, ['--cache'], []],
    [
      { sepolia: 'true' },
      [],
      [
        '--sepolia is not supported: this client runs OP Stack chains only; use init with the genesis file of such a chain',
      ],
    ],
    [{ sepolia: 'false', dev: 'false' }, [], []],
    [{ 'op-network': '' }, [], []],
    [{ 'rollup.superchain-upgrades': 'false' }, [], []],
    [
      { 'rollup.superchain-upgrades': 'true' },
      [],
      [
        '--rollup.superchain-upgrades is not supported: only the genesis file sets fork times; check that it has all of them, and remove the flag',
      ],
    ],
    [{ 'override.holocene': '0' }, [], ['--override.holocene is not supported: set holoceneTime in the genesis file']],
  ])('%j', (given, ignored, refused) => {
    const report = checkCompatFlags(
      Object.fromEntries(Object.entries(given).map(([name, value]) => [flagKey(name), value])),
    )
    expect([...report.ignored].sort()).toEqual(ignored)
    expect(report.refused).toEqual(refused)
  })
})
