import { executeUnderKills } from '../test/support/killedExecution.ts'

// An execution client that is killed with SIGKILL at 200 random moments. It builds and imports blocks and prunes old states in
// the meantime.
// Run: node bench/killedExecution.ts [kills]
// Prints one JSON object. Exit code 1 if a head is lost, a block or state is incomplete, or balances are wrong.

const [kills = 200] = process.argv.slice(2).map(Number)
const report = await executeUnderKills(kills, (kill) => {
  if (kill % 20 === 0) console.error(`${kill} of ${kills}`)
})
const met = report.problems.length === 0 && report.kills === kills && report.height > kills
console.log(JSON.stringify({ scenario: 'killed execution client', met, ...report }))
process.exitCode = met ? 0 : 1
