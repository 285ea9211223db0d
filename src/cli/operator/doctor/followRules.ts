import type { DoctorFacts } from './facts.ts'
import { type Finding, findingOn } from './finding.ts'

const now = findingOn('followed node', 'now')

/** Findings on the node that gives the safe head (`--l2.follow.source`). */
export function judgeFollowed({ followed, chain: { config } }: DoctorFacts): Finding[] {
  if (followed === undefined) return []
  const { url, problem, chainId } = followed
  if (problem !== undefined) {
    const text = `The node cannot follow ${url}: ${problem.text}. The safe head does not move.`
    return [now('follow-down', text, 'Start the rollup node there, or set --l2.follow.source to another one.')]
  }
  if (chainId === undefined || chainId === config.l2ChainId) return []
  const text = `The node at ${url} belongs to chain ${chainId}, not to ${config.l2ChainId}.`
  return [now('follow-wrong-chain', text, 'Set --l2.follow.source to a rollup node of this chain.')]
}
