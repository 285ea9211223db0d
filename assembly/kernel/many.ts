import { advance, digest, IDLE, isDone, jobOf, pad, RATE, start, stop } from './lanes'

// Hashes of single inputs, and of many that do not need each other: each lane takes the next one when it is done.

/** Bytes of a hash. */
const HASH: u32 = 32

/** Writes the hash of one input, whose place is as in `hashMany`. The second lane is idle. */
export function hashOne(input: u32, length: u32, hash: u32): void {
  stop(1)
  start(0, 0, input, pad(input, length))
  advance()
  digest(0, hash)
}

/**
 * Writes the hashes of `count` inputs to `hashes`, one after the other. `lengths` has the length of each (u32). The first one
 * begins at `inputs`, a multiple of 8, and each takes as many times RATE bytes as it has blocks, its padding included.
 */
export function hashMany(inputs: u32, lengths: u32, count: u32, hashes: u32): void {
  stop(0)
  stop(1)
  let at = inputs
  let next: u32 = 0
  while (true) {
    for (let lane: u32 = 0; lane < 2; lane++) {
      if (jobOf(lane) !== IDLE || next === count) continue
      const blocks = pad(at, load<u32>(lengths + next * 4))
      start(lane, next, at, blocks)
      at += blocks * RATE
      next += 1
    }
    if (jobOf(0) === IDLE && jobOf(1) === IDLE) return
    advance()
    for (let lane: u32 = 0; lane < 2; lane++) {
      if (!isDone(lane)) continue
      digest(lane, hashes + jobOf(lane) * HASH)
      stop(lane)
    }
  }
}
