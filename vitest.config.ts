import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import './bin/requireScripts.mjs'
import { WAIT_LIMIT_MS } from './src/lib/testUtils/until.ts'

// Unit and property tests stand beside their file; everything that starts processes lives in test/e2e and runs two
// files at a time: a testnet mostly waits for its next block.
export default defineConfig({
  test: {
    reporters: ['default', './test/summaryReporter.ts'],
    // Most tests wait for sockets, disks and processes more than they compute: two workers would leave two cores idle for
    // a third of the time.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'testnet/**/*.test.ts',
            'test/*.test.ts',
            'test/{vectors,actions,interop}/**/*.test.ts',
          ],
          setupFiles: ['./test/support/propertySeed.ts'],
          // For a machine that is busy with other things; most take milliseconds.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // The one limit of all waiting: tests choose none of their own.
          expect: { poll: { timeout: WAIT_LIMIT_MS } },
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/{browser,e2e,faults}/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 2 * WAIT_LIMIT_MS, interval: 200 } },
          maxWorkers: 2,
          // Tests that mostly wait run side by side within their file.
          maxConcurrency: 10,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
