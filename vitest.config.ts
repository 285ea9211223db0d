import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import './bin/requireScripts.mjs'
import { WAIT_LIMIT_MS } from './src/lib/testUtils/until.ts'

/** Unit tests stand beside their file; action tests, recorded chains and tests of documents in `test`. */
const UNIT = ['src/**/*.test.ts', 'testnet/**/*.test.ts', 'test/*.test.ts', 'test/{vectors,actions}/**/*.test.ts']
/** Stand beside their file too, and start whole programs, or fill an L1. */
const SYSTEM = ['src/**/*.system.test.ts', 'testnet/**/*.system.test.ts']
/** Tried in full by the system suite. */
const properties = () =>
  globSync(UNIT, { exclude: SYSTEM }).filter((file) =>
    /propertyRuns|fast-check|differential/.test(readFileSync(file, 'utf8')),
  )

const setup = {
  setupFiles: ['./test/support/propertySettings.ts'],
  // For a machine that is busy with other things; most take milliseconds.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // The one limit of all waiting: tests choose none of their own.
  expect: { poll: { timeout: WAIT_LIMIT_MS } },
}
/** Files share their modules: to load libp2p again for each would take longer than its tests. */
const shared = { ...setup, pool: 'threads', isolate: false } as const
/** Whole testnets: two at a time, since a testnet mostly waits for its next block. */
const programs = {
  ...setup,
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 2 * WAIT_LIMIT_MS, interval: 200 } },
  maxWorkers: 2,
  // Tests that mostly wait run side by side within their file.
  maxConcurrency: 10,
}

export default defineConfig({
  test: {
    reporters: ['default', './test/summaryReporter.ts'],
    // Most tests wait for sockets, disks and processes more than they compute: two workers would leave two cores idle for
    // a third of the time.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      { test: { name: 'unit', include: UNIT, exclude: SYSTEM, ...shared } },
      { test: { name: 'smoke', include: ['test/smoke/*.test.ts'], ...setup } },
      {
        test: {
          name: 'system',
          include: ['test/system/*.test.ts', ...SYSTEM],
          ...programs,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { name: 'properties', include: properties(), ...shared } },
      { test: { name: 'interop', include: ['test/interop/*.test.ts'], ...programs, sequence: { groupOrder: 2 } } },
    ],
  },
})
