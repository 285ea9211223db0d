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
  const text = protocols.includes('/floodsub/1.0.0') ? 'floodsub only, no meshsub' : 'it speaks no gossipsub'
  record('gossip', 'failed', text, { hint: 'no node of an OP Stack chain: those pass blocks on by /meshsub/' })
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
      hint: 'a bootnode or another service, or it does not talk to us: no block will come from it',
      data,
    })
    return chainIds
  }
  const found = [...byChain].map(([chainId, versions]) => `blocks ${namesOf(versions)} of chain ${chainId}`)
  const others = otherTopics.slice(0, MAX_NAMED).join(', ')
  const text = [...found, ...(others === '' ? [] : [`also ${others}`])].slice(0, MAX_NAMED).join('; ')
  if (byChain.size === 0) {
    record('topics', 'failed', `no topic of blocks, but ${others}`, {
      tookMs,
      hint: 'no node of an OP Stack chain',
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
      hint: `no topic for ${namesOf(missing)}: an older program, of no use once the chain has come to that fork`,
      data,
    })
  }
  return chainIds
}

function namesOf(versions: readonly number[]): string {
  return versions.map((version) => `v${version}`).join(' ')
}
