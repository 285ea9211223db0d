/** Runs of a property in a quick test run. */
const QUICK_RUNS = 50

/** How often a property is tried: at most 50 times, or in full where DEVIUM_PROPERTY_RUNS=full. */
export const propertyRuns = (full: number): number =>
  process.env.DEVIUM_PROPERTY_RUNS === 'full' ? full : Math.min(full, QUICK_RUNS)
