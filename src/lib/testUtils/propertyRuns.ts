/** Runs of a property in a quick test run. */
const QUICK_RUNS = 50

/** A full run tries all of what a quick run samples. */
export const isFullRun = process.env.DEVIUM_PROPERTY_RUNS === 'full'

/** How often a property is tried: at most 50 times, or in full where DEVIUM_PROPERTY_RUNS=full. */
export const propertyRuns = (full: number): number => (isFullRun ? full : Math.min(full, QUICK_RUNS))

/** All cases where DEVIUM_PROPERTY_RUNS=full; else about `quickCount` of them, evenly spaced. */
export const sampleOf = <T>(cases: readonly T[], quickCount: number): T[] =>
  cases.filter((_, index) => isFullRun || index % Math.ceil(cases.length / quickCount) === 0)
