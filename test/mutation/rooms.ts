interface Room {
  /** Path below `src`. */
  readonly name: string
  /** Files of the room that are mutated; all by default. */
  readonly mutate?: string
  /** Tests outside of the room that stand for it. */
  readonly tests?: readonly string[]
}

/** Rooms in which a fault costs most. */
export const ROOMS: readonly Room[] = [
  { name: 'p2p/reputation' },
  { name: 'p2p/gossip' },
  { name: 'rollup/protocol', tests: ['test/vectors/recordedProtocol.test.ts'] },
  { name: 'rollup/derive' },
  { name: 'batcher', mutate: '{channel,txmgr}/**/*.ts' },
  { name: 'rpc' },
]
