import { UsageError } from '../src/lib/errors.ts'

/** Which nodes dial which: those that come later dial earlier ones. Undefined: what suits most, with discovery. */
export type Topology = { kind: 'full' | 'line' | 'star' } | { kind: 'random'; peers: number } | undefined

/** Nodes that a verifier dials beside the sequencer, the first: blocks find a way round a link that is down. */
const NEIGHBOURS = 2

/** Throws UsageError. */
export function parseTopology(text: string): Topology {
  if (text === 'full' || text === 'line' || text === 'star') return { kind: text }
  const [, peers] = /^random:([1-9]\d?)$/.exec(text) ?? []
  if (peers === undefined)
    throw new UsageError('expected full, line, star, or random:K with how many peers each node dials')
  return { kind: 'random', peers: Number(peers) }
}

/** Of the earlier nodes, those that one more node dials. */
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

/** The same at each start: a kept testnet has the links that it had. */
function chosen<Node>(earlier: readonly Node[], count: number): Node[] {
  const left = [...earlier]
  let seed = earlier.length
  const taken: Node[] = []
  while (taken.length < count && left.length > 0) {
    // Of C's rand (POSIX): good enough to spread links.
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    taken.push(...left.splice((seed >>> 16) % left.length, 1))
  }
  return taken
}
