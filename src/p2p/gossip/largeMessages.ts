import { claimedTransactions, type PayloadVersion } from '../../rollup/protocol/index.ts'
import { snappyDeclaredLength } from '../snappyBlock.ts'
import { MAX_GOSSIP_BYTES } from './params.ts'

/**
 * Unpacked bytes above which a message is worked on by a process of its own. Most blocks of the OP Stack are below. Up
 * to here a message takes less than a millisecond of the event loop. Handing one over costs up to 3 ms for each MB.
 */
export const LARGE_BYTES = 128 * 1024

/** Transactions above which a short message goes there too: 26,000 of a byte each would take 20 ms to hash and view. */
export const MANY_TRANSACTIONS = 4_096

/** By what it is, or says to be once unpacked. One that says to be more than allowed is refused without unpacking. */
export function isLarge(compressed: Uint8Array): boolean {
  if (compressed.length > LARGE_BYTES) return true
  try {
    const declared = snappyDeclaredLength(compressed)
    return declared > LARGE_BYTES && declared <= MAX_GOSSIP_BYTES
  } catch {
    return false
  }
}

export function hasManyTransactions(body: Uint8Array, version: PayloadVersion): boolean {
  return claimedTransactions(body, version) > MANY_TRANSACTIONS
}
