import { limitGarbage } from '../../src/lib/garbageLimit.ts'

// A process that keeps much, and makes garbage while it has a turn after the other, as for the calls of a batch.

const TURNS = 1_000
const OBJECTS_IN_A_TURN = 3_000
const KEPT = 800_000

if (process.argv[2] === 'limited') limitGarbage()
const kept: object[] = []
let keptCount = 0
for (let turn = 0; turn < TURNS; turn++) {
  for (let n = 0; n < OBJECTS_IN_A_TURN; n++) {
    const made = { words: new Array<number>(32).fill(n) }
    if (n % 4 === 0) kept[keptCount++ % KEPT] = made
  }
  await new Promise((resolve) => setImmediate(resolve))
}
