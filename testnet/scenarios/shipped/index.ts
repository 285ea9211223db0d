import type { Scenario } from '../scenario.ts'
import { batcherDies } from './batcherDies.ts'
import { partition } from './partition.ts'

/** By the names that `--scenario` takes. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  partition,
  'batcher-dies': batcherDies,
}
