/** The texts of one score term, shared by all views. `explainScore.ts` computes its value. */
export interface TermWords<Name extends string> {
  /** The term's key in every report. */
  name: Name
  /** Its row in `devium p2p explain`. */
  row: string
  /** The name of the term when it is the main reason of a score. */
  reason: string
  /** True: `reason` is followed by the topic's version. */
  namesVersion?: true
  /** The causes from which `reason` names the latest. */
  causes?: 'rejections' | 'application'
  /** True: the value is the squared counter. */
  squared?: true
  /** Advice for the operator if the term lowers the score. */
  advice?: string
  /** The reason in the peer's history, if it differs from `name`. */
  event?: string
}

const words = <const Name extends string>(...terms: TermWords<Name>[]): readonly TermWords<Name>[] => terms

/** Terms of each scored topic. Advice of a later term is shown earlier. */
export const TOPIC_TERMS = words(
  { name: 'timeInMesh', row: 'time in the mesh, in slots', reason: 'time in the mesh' },
  { name: 'firstDeliveries', row: 'first to deliver a block', reason: 'first to deliver blocks' },
  {
    name: 'meshDeficit',
    row: 'fewer blocks delivered than required',
    reason: 'too few blocks delivered',
    namesVersion: true,
    squared: true,
    advice:
      'It must deliver blocks on that topic. If no node publishes there, --p2p.score.blocks is op-node-2024, which lowers the score of every peer: use "current".',
  },
  {
    name: 'meshFailures',
    // With op-node-2024 this is the delivery deficit at the time when the peer left the mesh, squared.
    row: 'had a block and did not deliver it',
    reason: 'blocks that it had and did not deliver',
    advice: 'It announces blocks, but other peers deliver them first. Its uplink or its processor may be overloaded.',
  },
  {
    name: 'invalidMessages',
    row: 'invalid messages',
    reason: 'invalid messages',
    namesVersion: true,
    causes: 'rejections',
    squared: true,
    advice:
      'The penalty for invalid messages decays if no more arrive. If many peers send them, check this node first: its rollup config and its version.',
  },
)
export type TopicTerm = (typeof TOPIC_TERMS)[number]['name']

/** Terms of the application score. The names are op-node's where op-node has the term. */
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
    advice: 'Requests for blocks by number fail. Check that the peer is synced.',
  },
  {
    name: 'rejectedPayloads',
    row: 'false blocks',
    reason: 'false blocks in answer to requests',
    event: 'false-block',
    advice: 'It answers requests with blocks that are not on this chain. It may follow another fork.',
  },
)
export type ResponseTerm = (typeof RESPONSE_TERMS)[number]['name']

/** One value for each term, in the order of the terms. */
export function perTerm<N extends string, T>(terms: readonly { name: N }[], make: (name: N) => T): Record<N, T> {
  return Object.fromEntries(terms.map(({ name }) => [name, make(name)])) as Record<N, T>
}
