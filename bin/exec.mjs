// The second half of launch.mjs when it had to change to a newer Node. argv is `exec.mjs <entry> ...flags`.
import { Socket } from 'node:net'
import { launch } from './launch.mjs'

/** File descriptor of a pipe, after the standard ones. The launcher holds it and never writes to it. */
const LEASH = 3
/** Programs stop within three seconds. */
const GRACE_MS = 10_000

// The closed pipe is the only sign that the launcher was killed.
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
