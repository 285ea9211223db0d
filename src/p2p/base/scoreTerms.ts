/** What one term of a score is called wherever it is shown, and what helps; its value is computed in `explainScore.ts`. */
export interface TermWords<Name extends string> {
  /** Its key in every report. */
  name: Name
  /** Its row in `devium p2p explain`. */
  row: string
  /** As what a peer has its score mostly for. */
  reason: string
  /** `reason` names the topic's version. */
  namesVersion?: true
  /** The causes whose latest `reason` names. */
  causes?: 'rejections' | 'application'
  /** The value is the square of what was counted. */
  squared?: true
  /** What an operator can do when it takes something away. */
  advice?: string
  /** Its reason in the peer's history, if that has another name. */
  event?: string
}

const words = <const Name extends string>(...terms: TermWords<Name>[]): readonly TermWords<Name>[] => terms

/** Of each topic that is scored; the later a term stands, the earlier its advice. */
export const TOPIC_TERMS = words(
  { name: 'timeInMesh', row: 'time in the mesh, in slots', reason: 'time in the mesh' },
  { name: 'firstDeliveries', row: 'first to bring a block', reason: 'first to bring blocks' },
  {
    name: 'meshDeficit',
    row: 'fewer blocks brought than asked',
    reason: 'too few blocks brought',
    namesVersion: true,
    squared: true,
    advice:
      'It must bring blocks on that topic. If nobody publishes there, that is --p2p.score.blocks op-node-2024, which blames every peer for it: use "current".',
  },
  {
    name: 'meshFailures',
    // With op-node-2024 what was missing when it left the mesh, squared.
    row: 'had a block and did not bring it',
    reason: 'blocks that it had and did not bring',
    advice:
      'It says that it has blocks and leaves it to others to bring them: its uplink or its processor may be overloaded.',
  },
  {
    name: 'invalidMessages',
    row: 'invalid messages',
    reason: 'invalid messages',
    namesVersion: true,
    causes: 'rejections',
    squared: true,
    advice:
      'Invalid messages are forgotten with time, if no more come. If many peers send them, look at this node first: its rollup config and its version.',
  },
)
export type TopicTerm = (typeof TOPIC_TERMS)[number]['name']

/** Of the application; the names are op-node's where it has the same. */
export const RESPONSE_TERMS = words(
  {
    name: 'validResponses',
    row: 'requests answered with a good block',
    reason: 'requests answered with good blocks',
    event: 'valid-block',
  },
  {
    name: 'errorResponses',
    row: 'requests failed',
    reason: 'requests failed',
    causes: 'application',
    event: 'failed',
    advice: 'Requests for blocks by number fail: is it synced?',
  },
  {
    name: 'rejectedPayloads',
    row: 'false blocks',
    reason: 'false blocks in answer to requests',
    event: 'false-block',
    advice: 'It answers requests with blocks that are none of this chain: it may follow another fork.',
  },
)
export type ResponseTerm = (typeof RESPONSE_TERMS)[number]['name']

/** One value for each of the terms, in their order. */
export function perTerm<N extends string, T>(terms: readonly { name: N }[], make: (name: N) => T): Record<N, T> {
  return Object.fromEntries(terms.map(({ name }) => [name, make(name)])) as Record<N, T>
}
