// Second half of launch.mjs when it had to change to a newer Node: argv is `exec.mjs <entry> ...flags`.
import { launch } from './launch.mjs'

const [entry] = process.argv.splice(2, 1)
launch(entry)
