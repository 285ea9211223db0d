/** Runs of a property: a number, or `full`. A quick test run has 50. */
const runs = process.env.DEVIUM_PROPERTY_RUNS ?? '50'
if (!/^(full|[1-9]\d*)$/.test(runs))
  throw new Error(`DEVIUM_PROPERTY_RUNS: "${runs}" is neither a whole number above 0 nor "full"`)

/** A full run tests all cases that a quick run samples. */
export const isFullRun = runs === 'full'

/** At most as many runs as DEVIUM_PROPERTY_RUNS says, or `full` runs if it says full. */
export const propertyRuns = (full: number): number => (isFullRun ? full : Math.min(full, Number(runs)))

/** All cases if DEVIUM_PROPERTY_RUNS=full; else about `quickCount` of them, evenly spaced. */
export const sampleOf = <T>(cases: readonly T[], quickCount: number): T[] =>
  cases.filter((_, index) => isFullRun || index % Math.ceil(cases.length / quickCount) === 0)
