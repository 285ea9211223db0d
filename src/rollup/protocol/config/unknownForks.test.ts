import { describe, expect, it } from 'vitest'
import { severityOf } from '../../../lib/errors.ts'
import { testConfig } from '../testUtils/config.ts'
import { parseRollupConfig, rollupConfigToJson } from './rollupConfig.ts'
import { describeUnknownMember, unknownConfigMembers } from './rollupConfigMembers.ts'
import { checkForksKnown, unknownForks } from './unknownForks.ts'

describe('forks that this version does not know', () => {
  const json = { ...rollupConfigToJson(testConfig({ karst: 0 })), venus_time: 20, mars_time: 10, l2_time: 'x' }

  it('are read from a rollup.json, written back, and sorted by time', () => {
    const config = parseRollupConfig({ ...json, earth_time: 15, odd_time: 'soon', never_time: null })
    const forks = [
      { name: 'mars', time: 10 },
      { name: 'earth', time: 15 },
      { name: 'venus', time: 20 },
    ]
    expect(unknownForks(config)).toEqual(forks)
    expect(unknownForks(parseRollupConfig(rollupConfigToJson(config)))).toEqual(forks)
    expect(parseRollupConfig(rollupConfigToJson(testConfig({ karst: 0 }))).unknownForks).toBeUndefined()
  })

  it('refuse blocks from their time on, but no earlier blocks', () => {
    const config = parseRollupConfig(json)
    checkForksKnown(config, 9)
    for (const time of [10, 1_000]) {
      try {
        checkForksKnown(config, time)
        expect.unreachable()
      } catch (error) {
        expect(error).toMatchObject({ code: 'fork-unknown', details: { fork: 'mars', time: 10 } })
        expect(severityOf(error)).toBe('temporary')
      }
    }
  })

  it('are not reported as ignored', () => {
    const misspelt = { ...json, jovain_time: 5, karst_tmie: 5 }
    const lines = unknownConfigMembers(misspelt).map((one) =>
      describeUnknownMember(one, parseRollupConfig(misspelt).unknownForks),
    )
    expect(lines).toContainEqual(expect.stringMatching(/\bjovain_time\b.*\bfork\b.*\bjovian_time\b/))
    expect(lines).toContainEqual(expect.stringMatching(/\bkarst_tmie\b.*\bkarst_time\b/))
  })
})
