/**
 * Offences other than bad blocks. The names appear in a peer's history. `OFFENCES.md` gives the limit, the cost, and
 * the reason why no honest node pays it.
 */
export interface Offence {
  /**
   * Points of gossipsub's behaviour penalty: six are free, the excess is squared and multiplied by -16. With 7 points
   * the peer leaves the mesh, with 8 it is graylisted, with 9 it is banned. Points halve in nine slots.
   */
  readonly points: number
}

export const OFFENCES = {
  /** An RPC that cannot be decoded, or that has more fields than any honest RPC. */
  'bad-rpc': { points: 4 },
  /** The length prefix of an RPC declares more than 10 MiB. The stream is reset. */
  'oversized-rpc': { points: 4 },
  /** RPCs above the budget, one offence for each `DROPS_PER_REPORT`. An RPC with thousands of fields counts as many. */
  'rpc-flood': { points: 1 },
  /** Messages or message bytes above the budget that are not blocks, one offence for each `DROPS_PER_REPORT`. */
  'message-flood': { points: 1 },
  /** Subscriptions above the budget, one offence for each `DROPS_PER_REPORT`. */
  'subscription-flood': { points: 1 },
  /** A block request that is longer than any protocol version could need. The stream is reset. */
  'oversized-request': { points: 1 },
  /** Unread RPCs exceed the limit. The stream is reset. */
  backlog: { points: 4 },
  /** A frame was not completed in time. The stream is reset. No points, since a bad link does the same. */
  'slow-frame': { points: 0 },
  /** The peer does not read our data. The connection is closed. No points, since a bad link does the same. */
  'slow-reader': { points: 0 },
  /** Pings above the budget. The stream is reset. */
  'ping-flood': { points: 1 },
  /**
   * The peer broke the multiplexer's rules, or opened streams faster than they are refused. The connection is closed.
   */
  'muxer-abuse': { points: 5 },
} as const satisfies Record<string, Offence>

export type OffenceName = keyof typeof OFFENCES
