import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** Ends a run with the one plain line that a build server can read: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    // An error outside of all tests, such as the end of a whole process, is a failure too.
    const count = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      let moduleTests = 0
      for (const test of module.children.allTests()) {
        moduleTests++
        const state = test.result().state
        if (state === 'passed' || state === 'failed') count[state]++
        else count.skipped++
      }
      // A file that fails to load has no tests but is a failure all the same.
      if (moduleTests === 0 && module.state() === 'failed') count.failed++
    }
    console.log(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
  }
}
