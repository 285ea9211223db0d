import { executeUnderKills } from '../test/support/killedExecution.ts'
import { syncUnderKills } from '../test/support/killedVerifier.ts'
import { submitUnderFaults } from '../test/support/submitterFaults.ts'
import { submitUnderKills } from '../test/support/submitterKills.ts'

// The long forms of tests in test/system: node bench/kills.ts <name> …
//   execution [200 kills]: an execution client that is killed at random moments while it builds and imports blocks and prunes old
//     states. A head may not be lost, blocks and states must be complete, and balances right.
//   submitter [100 kills] [seed]: a batch submitter that is killed at random moments under load. No block may be missing, out of
//     order or replaced, and at most one channel a kill may be posted twice.
//   verifier [50 kills] [200 blocks]: a verifier that is killed during its sync from genesis, with blobs. Its blocks and its
//     safe-head database must be right, and most kills must come before the end of the sync.
//   faults [auto|calldata|blobs] [10 minutes]: a batch submitter on an L1 that each minute fails, delays, loses transactions, is
//     full, becomes twenty times as expensive, and has a reorg of three blocks. No data may be lost or stuck.
// Prints one JSON object. The exit code is 1 if a condition is not met.

const [name = '', ...given] = process.argv.slice(2)
const numbers = given.map(Number)

const scenarios: Record<string, () => Promise<{ met: boolean }>> = {
  async execution() {
    const [kills = 200] = numbers
    const report = await executeUnderKills(kills, (kill) => {
      if (kill % 20 === 0) console.error(`${kill} of ${kills}`)
    })
    return { met: report.problems.length === 0 && report.kills === kills && report.height > kills, ...report }
  },
  async submitter() {
    const [kills = 100, seed] = numbers
    const report = await submitUnderKills({ kills, ...(seed === undefined ? {} : { seed }) })
    return { met: report.gaps.length === 0 && report.replaced.length === 0 && report.repeated <= kills, ...report }
  },
  async verifier() {
    const [kills = 50, blocks = 200] = numbers
    const report = await syncUnderKills({ kills, blocks })
    const isRight = report.differing.length === 0 && report.wrongEntries.length === 0
    return { met: isRight && report.blobs > 0 && report.killsDuringSync > 20, ...report }
  },
  async faults() {
    const [da = 'auto', cycles = '10'] = given
    if (da !== 'calldata' && da !== 'blobs' && da !== 'auto') throw new Error(`not a way to post: ${da}`)
    const seconds = { phaseSeconds: 10, calmSeconds: 60 }
    const report = await submitUnderFaults({ da, cycles: Number(cycles), ...seconds, waitForCalm: true })
    return { met: report.allSafe && report.caughtUpSeconds !== null, ...report }
  },
}
const run = scenarios[name]
if (run === undefined) throw new Error(`node bench/kills.ts ${Object.keys(scenarios).join('|')} …`)
const report = await run()
console.log(JSON.stringify({ scenario: name, ...report }))
process.exitCode = report.met ? 0 : 1
