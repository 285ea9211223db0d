import { claimedTransactions, type PayloadVersion } from '../../rollup/protocol/index.ts'

/** Limit of an RPC, and of an uncompressed message (specs: rollup-node-p2p, "Gossip parameters"). */
export const MAX_GOSSIP_BYTES = 10 * 1024 * 1024

/**
 * A message above this uncompressed size is handled by another process. Most OP Stack blocks are smaller. A message of
 * this size takes about a millisecond of the event loop. Transferring a message to the process costs up to 3 ms per MB.
 */
export const LARGE_BYTES = 128 * 1024

/**
 * A short message above this number of transactions goes to the process too: 26,000 transactions of one byte would take
 * 20 ms to hash.
 */
export const MANY_TRANSACTIONS = 4_096

export function hasManyTransactions(body: Uint8Array, version: PayloadVersion): boolean {
  return claimedTransactions(body, version) > MANY_TRANSACTIONS
}
