import { concatBytes, viewOf } from '../../../lib/bytes.ts'

// How headers are stored. A quarter of a kilobyte of each is its bloom filter, which has nothing in it where a block has no
// logs, as most blocks of an idle chain.

/** Of the list that a header is: more than 255 bytes, less than 65,536. */
const HEAD_BYTES = 3
const BLOOM_BYTES = 256
/** Behind the hashes of parent and uncles, the miner, three roots, and the filter's own length. */
const BLOOM_START = HEAD_BYTES + 2 * 33 + 21 + 3 * 33 + 3
const NO_LOGS = new Uint8Array(BLOOM_BYTES)

/** Leaves out a bloom filter without logs. */
export function packHeader(encoding: Uint8Array): Uint8Array {
  const end = BLOOM_START + BLOOM_BYTES
  if (Buffer.compare(encoding.subarray(BLOOM_START, end), NO_LOGS) !== 0) return encoding
  return concatBytes(encoding.subarray(0, BLOOM_START), encoding.subarray(end))
}

/** Puts it back: the list then is shorter than it says. */
export function unpackHeader(stored: Uint8Array): Uint8Array {
  if (stored.length === HEAD_BYTES + viewOf(stored).getUint16(1)) return stored
  return concatBytes(stored.subarray(0, BLOOM_START), NO_LOGS, stored.subarray(BLOOM_START))
}
