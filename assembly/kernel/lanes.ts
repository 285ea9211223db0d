import { permutePair } from './keccak'

// Two Keccak-256 hashes run side by side, each in a lane of the state pair, and each lane takes its next input when it
// is done, whatever the other one does.

/** Bytes that one permutation takes in. */
export const RATE: u32 = 136
/** No input. */
export const IDLE: u32 = 0xffffffff

/** A state pair. */
const STATE: u32 = <u32>memory.data(400, 16)

let source0: u32 = 0
let source1: u32 = 0
let blocks0: u32 = 0
let blocks1: u32 = 0
let job0: u32 = IDLE
let job1: u32 = IDLE

/** What the lane works on, or IDLE. */
export function jobOf(lane: u32): u32 {
  return lane === 0 ? job0 : job1
}

/** Writes Keccak's padding behind `length` bytes at `source`, where there must be room for RATE + 8 more. Number of blocks. */
export function pad(source: u32, length: u32): u32 {
  const blocks = length / RATE + 1
  const end = source + blocks * RATE
  let at = source + length
  store<u8>(at, 1)
  at += 1
  for (; (at & 7) !== 0 && at < end; at++) store<u8>(at, 0)
  for (; at < end; at += 8) store<u64>(at, 0)
  store<u8>(end - 1, load<u8>(end - 1) | 0x80)
  return blocks
}

/** Gives an idle lane `blocks` whole padded blocks. */
export function start(lane: u32, job: u32, source: u32, blocks: u32): void {
  if (lane === 0) {
    job0 = job
    source0 = source
    blocks0 = blocks
    clear(i64x2(-1, 0))
  } else {
    job1 = job
    source1 = source
    blocks1 = blocks
    clear(i64x2(0, -1))
  }
}

// Both lanes' words are written together: a vector that was written in halves takes the processor longer to read.

function clear(lane: v128): void {
  for (let word = STATE; word < STATE + 400; word += 16) v128.store(word, v128.andnot(v128.load(word), lane))
}

export function stop(lane: u32): void {
  if (lane === 0) {
    job0 = IDLE
    blocks0 = 0
  } else {
    job1 = IDLE
    blocks1 = 0
  }
}

/** Whether the lane has taken in all of its job, so that its hash can be read. */
export function isDone(lane: u32): bool {
  return lane === 0 ? job0 !== IDLE && blocks0 === 0 : job1 !== IDLE && blocks1 === 0
}

/**
 * Takes one block into each lane, and so on until a lane is done. An idle lane takes in what the other one does: its state
 * is cleared before its next job.
 */
export function advance(): void {
  const steps = blocks0 === 0 ? blocks1 : blocks1 === 0 ? blocks0 : min(blocks0, blocks1)
  let from0 = blocks0 === 0 ? source1 : source0
  let from1 = blocks1 === 0 ? source0 : source1
  for (let step: u32 = 0; step < steps; step++) {
    absorb(from0, from1)
    permutePair(STATE)
    from0 += RATE
    from1 += RATE
  }
  source0 = from0
  source1 = from1
  if (blocks0 !== 0) blocks0 -= steps
  if (blocks1 !== 0) blocks1 -= steps
}

function absorb(from0: u32, from1: u32): void {
  for (let word = STATE; word < STATE + RATE * 2; word += 16) {
    const words = v128.load64_lane(from1, v128.load64_zero(from0), 1)
    v128.store(word, v128.xor(v128.load(word), words))
    from0 += 8
    from1 += 8
  }
}

/** Writes the hash of the lane's job to `target`. */
export function digest(lane: u32, target: u32): void {
  const word = STATE + lane * 8
  store<u64>(target, load<u64>(word))
  store<u64>(target, load<u64>(word, 16), 8)
  store<u64>(target, load<u64>(word, 32), 16)
  store<u64>(target, load<u64>(word, 48), 24)
}
