import { expect, it } from 'vitest'
import { executeUnderKills } from '../support/killedExecution.ts'

// The long form is `bench/kills.ts execution`.
it('keeps a complete chain and complete states, whenever the execution client is killed', async () => {
  const report = await executeUnderKills(6)
  expect(report.problems).toEqual([])
  expect(report.kills).toBe(6)
  expect(report.height).toBeGreaterThan(10)
  expect(report.states).toBeGreaterThan(10)
}, 300_000)
