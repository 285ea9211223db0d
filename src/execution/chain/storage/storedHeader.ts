import { concatBytes, viewOf } from '../../../lib/bytes.ts'

// Storage format of headers. The bloom filter takes 256 bytes of each. It is left out if it is empty, as in most blocks
// of an idle chain.

/** Bytes of the list header: a header has more than 255 bytes and less than 65,536. */
const HEAD_BYTES = 3
const BLOOM_BYTES = 256
/** The bloom filter follows the hashes of parent and uncles, the miner, three roots, and its own length. */
const BLOOM_START = HEAD_BYTES + 2 * 33 + 21 + 3 * 33 + 3
const NO_LOGS = new Uint8Array(BLOOM_BYTES)

/** Removes an empty bloom filter. */
export function packHeader(encoding: Uint8Array): Uint8Array {
  const end = BLOOM_START + BLOOM_BYTES
  if (Buffer.compare(encoding.subarray(BLOOM_START, end), NO_LOGS) !== 0) return encoding
  return concatBytes(encoding.subarray(0, BLOOM_START), encoding.subarray(end))
}

/** Restores the filter if the list is shorter than its length says. */
export function unpackHeader(stored: Uint8Array): Uint8Array {
  if (stored.length === HEAD_BYTES + viewOf(stored).getUint16(1)) return stored
  return concatBytes(stored.subarray(0, BLOOM_START), NO_LOGS, stored.subarray(BLOOM_START))
}
