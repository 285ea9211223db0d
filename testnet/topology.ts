import { UsageError } from '../src/lib/errors.ts'

/** The links between nodes: later nodes dial earlier ones. Undefined: the default links, with discovery. */
export type Topology = { kind: 'full' | 'line' | 'star' } | { kind: 'random'; peers: number } | undefined

/** Number of nodes that a verifier dials in addition to the sequencer. Blocks then have a second path if a link fails. */
const NEIGHBOURS = 2

/** Throws UsageError. */
export function parseTopology(text: string): Topology {
  if (text === 'full' || text === 'line' || text === 'star') return { kind: text }
  const [, peers] = /^random:([1-9]\d?)$/.exec(text) ?? []
  if (peers === undefined)
    throw new UsageError('expected full, line, star, or random:K with how many peers each node dials')
  return { kind: 'random', peers: Number(peers) }
}

/** The earlier nodes that one more node dials. */
export function neighboursAmong<Node>(earlier: readonly Node[], topology?: Topology): Node[] {
  switch (topology?.kind) {
    case undefined:
      return [...earlier.slice(0, 1), ...earlier.slice(1).slice(-NEIGHBOURS)]
    case 'full':
      return [...earlier]
    case 'line':
      return earlier.slice(-1)
    case 'star':
      return earlier.slice(0, 1)
    case 'random':
      return chosen(earlier, topology.peers)
  }
}

/** Deterministic, so that a kept testnet keeps its links. */
function chosen<Node>(earlier: readonly Node[], count: number): Node[] {
  const left = [...earlier]
  let seed = earlier.length
  const taken: Node[] = []
  while (taken.length < count && left.length > 0) {
    // The constants of C's rand (POSIX), which spread links well enough.
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    taken.push(...left.splice((seed >>> 16) % left.length, 1))
  }
  return taken
}
