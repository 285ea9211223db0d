// The leash (leash.mjs) for a third-party program. `node leashedBinary.mjs <binary> [arguments]` runs it as a child and passes
// signals on. It interrupts the child when the runner's end of standard input closes, and exits with the child's exit code or
// signal.
import { spawn } from 'node:child_process'
import process from 'node:process'

/** Anvil writes the state of the whole L1 first. With blobs it has hundreds of megabytes, and a kill would lose it. */
const GRACE_MS = 300_000

const [binary, ...args] = process.argv.slice(2)
const child = spawn(binary, args, { stdio: ['ignore', 'inherit', 'inherit'] })

let pulled = false
function pull() {
  if (pulled) return
  pulled = true
  child.kill('SIGINT')
  setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref()
}

for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => child.kill(name))
process.stdin.on('end', pull).on('close', pull).on('error', pull)
process.stdin.resume()

child.on('error', (error) => {
  console.error(`cannot run ${binary}: ${error.message}`)
  process.exit(127)
})
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
