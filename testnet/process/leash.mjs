// Loaded into every program of a testnet with `node --import`. The program's standard input is a pipe that the runner holds. The
// kernel closes the pipe when the runner ends, so no program outlives the runner. The runner writes to it only to set the
// program's clock, one line each: `clock <milliseconds ahead of the machine's>`.
import process from 'node:process'

/** Enough for a database to close. */
const GRACE_MS = 10_000

let pulled = false
function pull() {
  if (pulled) return
  pulled = true
  process.kill(process.pid, 'SIGTERM')
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref()
}

const { now } = Date
let aheadMs = 0
// Replaced at the start, so that modules which keep a reference to Date.now also get the set clock.
Date.now = () => now() + aheadMs

process.stdin.on('data', (bytes) => {
  const [line] =
    String(bytes)
      .match(/^clock -?\d+$/gm)
      ?.slice(-1) ?? []
  if (line !== undefined) aheadMs = Number(line.slice('clock '.length))
})
process.stdin.on('end', pull).on('close', pull).on('error', pull)
process.stdin.resume()
process.stdin.unref?.()
