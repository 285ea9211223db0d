import { expect, it } from 'vitest'
import { syncUnderKills } from '../support/killedVerifier.ts'

// Half a minute on a machine with nothing else to do; the long form is `bench/kills.ts verifier`.
it('syncs the same chain from blobs, whenever it is killed', async () => {
  const report = await syncUnderKills({ kills: 2, blocks: 15 })
  expect(report.kills).toBe(2)
  expect(report.killsDuringSync).toBeGreaterThan(0)
  expect(report.blobs).toBeGreaterThan(0)
  expect(report.compared).toBeGreaterThanOrEqual(15)
  expect(report.differing).toEqual([])
  expect(report.wrongEntries).toEqual([])
}, 600_000)
