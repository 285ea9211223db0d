// Settings of all property tests. DEVIUM_PROPERTY_SEED is the seed that fast-check prints with a failure.
import fc from 'fast-check'
import { propertyRuns } from '../../src/lib/testUtils/propertyRuns.ts'

const seed = process.env.DEVIUM_PROPERTY_SEED
if (seed !== undefined && !/^-?\d+$/.test(seed))
  throw new Error(`DEVIUM_PROPERTY_SEED: "${seed}" is not a whole number`)
fc.configureGlobal({ numRuns: propertyRuns(100), ...(seed === undefined ? {} : { seed: Number(seed) }) })
