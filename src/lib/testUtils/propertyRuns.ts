/** Number of runs of a property in a quick test run. */
const QUICK_RUNS = 50

/** A full run tests all cases that a quick run samples. */
export const isFullRun = process.env.DEVIUM_PROPERTY_RUNS === 'full'

/** At most 50 runs, or `full` runs if DEVIUM_PROPERTY_RUNS=full. */
export const propertyRuns = (full: number): number => (isFullRun ? full : Math.min(full, QUICK_RUNS))

/** All cases if DEVIUM_PROPERTY_RUNS=full; else about `quickCount` of them, evenly spaced. */
export const sampleOf = <T>(cases: readonly T[], quickCount: number): T[] =>
  cases.filter((_, index) => isFullRun || index % Math.ceil(cases.length / quickCount) === 0)
