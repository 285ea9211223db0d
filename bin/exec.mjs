// Second half of launch.mjs when it had to change to a newer Node: argv is `exec.mjs <entry> ...flags`.
import { Socket } from 'node:net'
import { launch } from './launch.mjs'

/** Behind standard input, output and error: a pipe that the launcher holds and never writes to. */
const LEASH = 3
/** The programs need three seconds at most. */
const GRACE_MS = 10_000

// Nobody else could stop the program when its launcher was killed.
new Socket({ fd: LEASH })
  .on('error', () => {})
  .on('close', () => {
    process.kill(process.pid, 'SIGTERM')
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref()
  })
  .unref()
  .resume()

const [entry] = process.argv.splice(2, 1)
launch(entry)
