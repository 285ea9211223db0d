interface Room {
  /** Path below `src`. */
  readonly name: string
  /** Tests outside of the room that stand for it. */
  readonly tests?: readonly string[]
}

/** Rooms in which a fault costs most. */
export const ROOMS: readonly Room[] = [
  { name: 'p2p/reputation' },
  { name: 'p2p/gossip' },
  { name: 'rollup/protocol', tests: ['test/vectors/recordedProtocol.test.ts'] },
  { name: 'rollup/derive' },
  { name: 'batcher/channel' },
  { name: 'batcher/txmgr' },
  { name: 'rpc' },
]
