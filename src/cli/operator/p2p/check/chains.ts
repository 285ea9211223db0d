import { PAYLOAD_VERSIONS } from '../../../../p2p/base/topics.ts'

/** The chains that a peer's topics name. */
export interface ChainFacts {
  /** Payload versions (1 to 4) of the block topics, by chain id. */
  topics: ReadonlyMap<bigint, number[]>
  /** Topics that are not block topics of an OP Stack chain. */
  otherTopics: string[]
}

/** Up to 20 digits, since chain ids have at most 64 bits, as in discovery. */
const BLOCKS_TOPIC = /^\/optimism\/(\d{1,20})\/([0-3])\/blocks$/

export function chainsOfTopics(topics: readonly string[]): ChainFacts {
  const byChain = new Map<bigint, number[]>()
  const otherTopics: string[] = []
  for (const topic of topics) {
    const [, chain, index] = BLOCKS_TOPIC.exec(topic) ?? []
    if (chain === undefined || index === undefined) {
      otherTopics.push(topic)
      continue
    }
    const versions = byChain.get(BigInt(chain)) ?? []
    byChain.set(BigInt(chain), [...versions, Number(index) + 1].sort())
  }
  return { topics: byChain, otherTopics }
}

/** Versions of the block topics that the peer lacks. Its program does not support the forks of these versions. */
export function missingVersions(versions: readonly number[]): number[] {
  return PAYLOAD_VERSIONS.filter((version) => !versions.includes(version))
}
