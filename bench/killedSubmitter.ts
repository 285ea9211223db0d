import { submitUnderKills } from '../test/support/submitterKills.ts'

// A batch submitter that is killed with SIGKILL 100 times at random moments under load: node bench/killedSubmitter.ts [kills]
// [seed]
// Prints one JSON object. Exit code 1 if a block is missing, out of order or replaced, or if more than one channel a kill was
// posted twice.

const [kills = 100, seed] = process.argv.slice(2).map(Number)
const report = await submitUnderKills({ kills, ...(seed === undefined ? {} : { seed }) })
const met = report.gaps.length === 0 && report.replaced.length === 0 && report.repeated <= kills
console.log(JSON.stringify({ scenario: 'killed submitter', met, ...report }))
process.exitCode = met ? 0 : 1
