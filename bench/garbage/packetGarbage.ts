import { createCipheriv } from 'node:crypto'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { markLater } from '../../src/lib/laterMarking.ts'

// A process with a small heap through which packets go, most of the time asleep. Prints how many full collections it had.

const PACKET_BYTES = 64 * 1024
const PACKETS_IN_A_TURN = 4
const TURNS = 900
const KEPT = 20_000

if (process.argv[2] === 'later') markLater()
let collections = 0
new PerformanceObserver((list) => {
  collections += list.getEntries().filter(isFull).length
}).observe({ entryTypes: ['gc'] })

// Its output is made outside of JavaScript, like what comes from a socket.
const cipher = createCipheriv('chacha20', Buffer.alloc(32), Buffer.alloc(16))
const packet = Buffer.alloc(PACKET_BYTES)
const kept: number[][] = []
globalThis.gc?.()
for (let turn = 0; turn < TURNS; turn++) {
  for (let n = 0; n < PACKETS_IN_A_TURN; n++) cipher.update(packet)
  for (let n = 0; n < 20; n++) kept[(20 * turn + n) % KEPT] = new Array<number>(64).fill(n)
  await new Promise((resolve) => setTimeout(resolve, 2))
}
console.log(collections)

/** Node's entries have the detail, their type has not. */
function isFull(entry: object): boolean {
  const { detail } = entry as { detail?: { kind?: number } }
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
