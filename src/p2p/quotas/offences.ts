/**
 * What a peer can do wrong beside the blocks it sends, in names that the history of a peer shows. `OFFENCES.md` explains
 * each: its limit, its price, and why no honest node pays it.
 */
export interface Offence {
  /**
   * Behaviour points, gossipsub's counter of misbehaviour: six are free, each beyond counts squared, times -16. So 7
   * cost the place in the mesh, 8 end the hearing (graylist), 9 lead to the ban. They halve in nine slots.
   */
  readonly points: number
}

export const OFFENCES = {
  /** An RPC that cannot be decoded, or has more members than any honest one. */
  'bad-rpc': { points: 4 },
  /** The head of an RPC says more than 10 MiB. Its stream is reset. */
  'oversized-rpc': { points: 4 },
  /** More RPCs than the budget, each `DROPS_PER_REPORT` of them; one with thousands of members counts as many. */
  'rpc-flood': { points: 1 },
  /** More messages, or more bytes in messages, than the budget, and none of them a block; each `DROPS_PER_REPORT`. */
  'message-flood': { points: 1 },
  /** Subscribing and unsubscribing without end, each `DROPS_PER_REPORT`. */
  'subscription-flood': { points: 1 },
  /** A request for a block that is no request, however new its protocol. The stream is reset. */
  'oversized-request': { points: 1 },
  /** RPCs that wait to be read hold more than the limit. The stream is reset. */
  backlog: { points: 4 },
  /** A frame was begun and not finished in time. The stream is reset; a bad link does the same. */
  'slow-frame': { points: 0 },
  /** It does not read what it is sent. The connection is closed; a bad link does the same. */
  'slow-reader': { points: 0 },
  /** More pings than anybody needs. The stream is reset. */
  'ping-flood': { points: 1 },
  /** The multiplexer's rules broken, or streams opened faster than they are refused. The connection is closed. */
  'muxer-abuse': { points: 5 },
} as const satisfies Record<string, Offence>

export type OffenceName = keyof typeof OFFENCES
