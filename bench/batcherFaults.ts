import { submitUnderFaults } from '../test/support/submitterFaults.ts'

// A batch submitter for ten minutes on a faulty L1. Each minute the L1 fails, delays, loses transactions, is full, becomes twenty
// times as expensive, and has a reorg of three blocks: node bench/batcherFaults.ts [calldata|blobs|auto] [minutes]
// Prints one JSON object. Exit code 1 if data is lost or stuck.

const [da = 'auto', minutes = '10'] = process.argv.slice(2)
if (da !== 'calldata' && da !== 'blobs' && da !== 'auto') throw new Error(`not a way to post: ${da}`)
const report = await submitUnderFaults({
  da,
  cycles: Number(minutes),
  phaseSeconds: 10,
  calmSeconds: 60,
  waitForCalm: true,
})
const met = report.allSafe && report.caughtUpSeconds !== null
console.log(JSON.stringify({ scenario: 'faulty L1', met, ...report }))
process.exitCode = met ? 0 : 1
