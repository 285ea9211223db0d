// Loaded into every program of a testnet with `node --import`. Its standard input is a pipe that the runner holds and
// never writes to: the kernel closes it when the runner ends in whatever way, so that no program outlives the runner.
import process from 'node:process'

/** Long enough for a database to close. */
const GRACE_MS = 10_000

let pulled = false
function pull() {
  if (pulled) return
  pulled = true
  process.kill(process.pid, 'SIGTERM')
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref()
}

process.stdin.on('end', pull).on('close', pull).on('error', pull)
process.stdin.resume()
process.stdin.unref?.()
