import { expect, it } from 'vitest'
import { submitUnderFaults } from '../support/submitterFaults.ts'

// One round of `bench/kills.ts faults`, which takes ten minutes.
it.runIf(process.env.DEVIUM_LONG_FAULTS === 'all')(
  'posts everything to an L1 that fails, delays, loses transactions, is full, becomes expensive and has reorgs',
  async () => {
    const report = await submitUnderFaults({ da: 'auto', cycles: 1, phaseSeconds: 4, calmSeconds: 200 })
    expect(Object.keys(report.faults)).toEqual(
      expect.arrayContaining(['delayed', 'failed', 'receipt dropped', 'pool full']),
    )
    expect(report.reorgs).toBe(1)
    expect(report.caughtUpSeconds).not.toBeNull()
    expect(report.allSafe).toBe(true)
    expect(report.errors).toEqual([])
  },
  300_000,
)
