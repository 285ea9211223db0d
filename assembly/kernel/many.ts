import { permutePair } from './keccak'

// Keccak-256 of inputs that do not need each other. Two hashes run side by side, each in a lane of the state pair. A lane
// takes the next input when it is done, whatever the other lane does.

/** Bytes that one permutation takes in. */
const RATE: u32 = 136
/** Bytes of a hash. */
const HASH: u32 = 32

/** A state pair. */
const STATE: u32 = <u32>memory.data(400, 16)

@unmanaged
class Lane {
  /** Where its hash goes; 0 for an idle lane. */
  hash: u32
  /** The place of its next block, and the number of blocks to take in. */
  source: u32
  blocks: u32
}

const lane0: Lane = changetype<Lane>(memory.data(12, 4))
const lane1: Lane = changetype<Lane>(memory.data(12, 4))

/** The next input, its length, the place of its hash, and the end of the lengths. */
let input: u32 = 0
let length: u32 = 0
let hash: u32 = 0
let lengthsEnd: u32 = 0

/**
 * Writes the hashes of `count` inputs to `hashes`, one after the other. `lengths` has the length of each (u32). The first one
 * begins at `inputs`, a multiple of 8, and each takes as many times RATE bytes as it has blocks, its padding included.
 */
export function hashMany(inputs: u32, lengths: u32, count: u32, hashes: u32): void {
  input = inputs
  length = lengths
  hash = hashes
  lengthsEnd = lengths + count * 4
  refill(lane0)
  refill(lane1)
  while (lane0.hash !== 0 || lane1.hash !== 0) {
    advance()
    finish(lane0)
    finish(lane1)
  }
}

/** Gives the lane the next input, if there is one. */
function refill(lane: Lane): void {
  lane.hash = 0
  if (length === lengthsEnd) return
  lane.hash = hash
  lane.source = input
  lane.blocks = pad(input, load<u32>(length))
  input += lane.blocks * RATE
  length += 4
  hash += HASH
  // Both lanes' words are written together: a vector that was written in halves takes the processor longer to read.
  const kept = lane === lane0 ? i64x2(0, -1) : i64x2(-1, 0)
  for (let word = STATE; word < STATE + 400; word += 16) v128.store(word, v128.and(v128.load(word), kept))
}

/** Writes Keccak's padding behind `size` bytes at `source`, where there must be room for RATE + 8 more. Number of blocks. */
function pad(source: u32, size: u32): u32 {
  const blocks = size / RATE + 1
  const end = source + blocks * RATE
  let at = source + size
  store<u8>(at, 1)
  at += 1
  for (; (at & 7) !== 0 && at < end; at++) store<u8>(at, 0)
  for (; at < end; at += 8) store<u64>(at, 0)
  store<u8>(end - 1, load<u8>(end - 1) | 0x80)
  return blocks
}

/**
 * Takes one block into each lane, and so on until a lane is done. An idle lane takes in what the other one does: its state
 * is cleared before its next input.
 */
function advance(): void {
  const steps = lane0.hash === 0 ? lane1.blocks : lane1.hash === 0 ? lane0.blocks : min(lane0.blocks, lane1.blocks)
  let from0 = lane0.hash === 0 ? lane1.source : lane0.source
  let from1 = lane1.hash === 0 ? lane0.source : lane1.source
  for (let step: u32 = 0; step < steps; step++) {
    absorb(from0, from1)
    permutePair(STATE)
    from0 += RATE
    from1 += RATE
  }
  lane0.source = from0
  lane1.source = from1
  lane0.blocks -= steps
  lane1.blocks -= steps
}

function absorb(from0: u32, from1: u32): void {
  for (let word = STATE; word < STATE + RATE * 2; word += 16) {
    const words = v128.load64_lane(from1, v128.load64_zero(from0), 1)
    v128.store(word, v128.xor(v128.load(word), words))
    from0 += 8
    from1 += 8
  }
}

/** Writes the hash of a lane that has taken in its whole input. */
function finish(lane: Lane): void {
  if (lane.hash === 0 || lane.blocks !== 0) return
  const word = STATE + (lane === lane0 ? 0 : 8)
  store<u64>(lane.hash, load<u64>(word))
  store<u64>(lane.hash, load<u64>(word, 16), 8)
  store<u64>(lane.hash, load<u64>(word, 32), 16)
  store<u64>(lane.hash, load<u64>(word, 48), 24)
  refill(lane)
}
