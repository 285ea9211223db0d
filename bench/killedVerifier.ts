import { syncUnderKills } from '../test/support/killedVerifier.ts'

// A verifier that is killed with SIGKILL 50 times during its sync from genesis, with blobs: node bench/killedVerifier.ts [kills]
// [blocks]
// Prints one JSON object. Exit code 1 if a block or an entry of the safe-head database is wrong, or if the sync ended too early.

const [kills = 50, blocks = 200] = process.argv.slice(2).map(Number)
const report = await syncUnderKills({ kills, blocks })
const met =
  report.differing.length === 0 && report.wrongEntries.length === 0 && report.blobs > 0 && report.killsDuringSync > 20
console.log(JSON.stringify({ scenario: 'killed verifier', met, ...report }))
process.exitCode = met ? 0 : 1
