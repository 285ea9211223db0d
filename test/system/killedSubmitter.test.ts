import { expect, it } from 'vitest'
import { submitUnderKills } from '../support/submitterKills.ts'

// Half a minute on a machine with nothing else to do; the long form is `bench/kills.ts submitter`.
it('loses nothing and posts at most one channel twice for each kill', async () => {
  const report = await submitUnderKills({ kills: 5, seed: 7 })
  expect(report.blocks).toBeGreaterThan(8)
  expect(report.gaps).toEqual([])
  expect(report.replaced).toEqual([])
  expect(report.repeated).toBeLessThanOrEqual(5)
}, 300_000)
