import { claimedTransactions, type PayloadVersion } from '../../rollup/protocol/index.ts'

/** Largest RPC container, and largest message after unpacking (specs: rollup-node-p2p, "Gossip parameters"). */
export const MAX_GOSSIP_BYTES = 10 * 1024 * 1024

/**
 * Unpacked bytes above which a message is worked on by a process of its own. Most blocks of the OP Stack are below. Up
 * to here a message takes about a millisecond of the event loop. Handing one over costs up to 3 ms for each MB.
 */
export const LARGE_BYTES = 128 * 1024

/** Transactions above which a short message goes there too: 26,000 of a byte each would take 20 ms to hash and view. */
export const MANY_TRANSACTIONS = 4_096

export function hasManyTransactions(body: Uint8Array, version: PayloadVersion): boolean {
  return claimedTransactions(body, version) > MANY_TRANSACTIONS
}
