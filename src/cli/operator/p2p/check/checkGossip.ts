import { chainsOfTopics, missingVersions } from './chains.ts'
import { printable, type Recorder } from './steps.ts'

/** False if the peer does not speak gossipsub. */
export function checkGossip(record: Recorder, protocols: readonly string[]): boolean {
  const versions = protocols.filter((protocol) => protocol.startsWith('/meshsub/')).map((protocol) => protocol.slice(9))
  if (versions.length > 0) {
    record('gossip', 'ok', `meshsub ${versions.map((version) => printable(version, 20)).join(', ')}`, {
      data: { versions },
    })
    return true
  }
  const text = protocols.includes('/floodsub/1.0.0') ? 'floodsub only, no meshsub' : 'it does not support gossipsub'
  record('gossip', 'failed', text, { hint: 'not an OP Stack node: OP Stack nodes gossip blocks with /meshsub/' })
  return false
}

/** Limit of the topics named in a text, because a peer may have many. */
const MAX_NAMED = 3

/** Checks which chains' block topics the peer follows. Returns their chain ids. */
export function checkTopics(
  record: Recorder,
  announced: readonly string[],
  expectedChainId: bigint | undefined,
  tookMs: number,
): string[] {
  const topics = announced.map((topic) => printable(topic, 80))
  const { topics: byChain, otherTopics } = chainsOfTopics(topics)
  const chainIds = [...byChain.keys()].map(String)
  const data = { topics, chainIds }
  if (announced.length === 0) {
    record('topics', 'failed', 'it announces no topic', {
      tookMs,
      hint: 'it is a bootnode or another service, or it refuses us. It will not send blocks',
      data,
    })
    return chainIds
  }
  const found = [...byChain].map(([chainId, versions]) => `blocks ${namesOf(versions)} of chain ${chainId}`)
  const others = otherTopics.slice(0, MAX_NAMED).join(', ')
  const text = [...found, ...(others === '' ? [] : [`also ${others}`])].slice(0, MAX_NAMED).join('; ')
  if (byChain.size === 0) {
    record('topics', 'failed', `no blocks topic, but ${others}`, {
      tookMs,
      hint: 'not an OP Stack node',
      data,
    })
    return chainIds
  }
  const versions = expectedChainId === undefined ? [...byChain.values()].flat() : byChain.get(expectedChainId)
  if (versions === undefined) {
    const chains = chainIds.slice(0, MAX_NAMED).join(' and ')
    record('topics', 'failed', `blocks of chain ${chains}, not of chain ${expectedChainId}`, { tookMs, data })
    return chainIds
  }
  const missing = missingVersions(versions)
  if (missing.length === 0) record('topics', 'ok', text, { tookMs, data })
  else {
    record('topics', 'warning', text, {
      tookMs,
      hint: `no topic for ${namesOf(missing)}: an older program, which gets no blocks after that fork`,
      data,
    })
  }
  return chainIds
}

function namesOf(versions: readonly number[]): string {
  return versions.map((version) => `v${version}`).join(' ')
}
