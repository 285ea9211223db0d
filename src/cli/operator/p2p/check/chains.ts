import { PAYLOAD_VERSIONS } from '../../../../p2p/base/topics.ts'

/** What a peer's topics tell of the chains that it follows. */
export interface ChainFacts {
  /** Payload versions (1 to 4) of the block topics, by chain id. */
  topics: ReadonlyMap<bigint, number[]>
  /** Topics that are none of an OP Stack chain's blocks. */
  otherTopics: string[]
}

/** Up to 64 bits, as in discovery; more is nobody's chain. */
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

/** Versions that a peer of the chain lacks: those of the forks that its program does not know. */
export function missingVersions(versions: readonly number[]): number[] {
  return PAYLOAD_VERSIONS.filter((version) => !versions.includes(version))
}
