import type { FoundPeer } from './checkConnection.ts'
import type { CheckStep } from './steps.ts'

/** Limit of the named chains, because a peer may invent many. */
const MAX_NAMED = 3

/** One line: the failed step or success, and the peer's program and chains. */
export function verdictOf(
  steps: readonly CheckStep[],
  { agent, chainIds }: Pick<FoundPeer, 'agent' | 'chainIds'>,
): string {
  const failed = steps.filter(({ outcome }) => outcome === 'failed')
  const [first, ...others] = failed
  if (first !== undefined) {
    const isOurs = first.step === 'own node' && others.length === 0 && steps.some(isOpenConnection)
    return isOurs
      ? `the peer is reachable, but ${first.text}`
      : `failed at ${first.step}: ${first.text}${others.length === 0 ? '' : ` (also failed: ${namesOf(others)})`}`
  }
  const warnings = steps.filter(({ outcome }) => outcome === 'warning')
  const notes = warnings.length === 0 ? '' : `; warnings: ${namesOf(warnings)}`
  if (!steps.some(isOpenConnection)) return `discovery answers; the peer has no TCP port${notes}`
  const facts = [
    ...(agent === undefined ? [] : [agent]),
    ...chainIds.slice(0, MAX_NAMED).map((chainId) => `chain ${chainId}`),
  ]
  return `reachable: ${facts.join(', ')}${notes}`
}

function isOpenConnection({ step, outcome }: CheckStep): boolean {
  return step === 'connection' && outcome === 'ok'
}

function namesOf(steps: readonly CheckStep[]): string {
  return [...new Set(steps.map(({ step }) => step))].join(', ')
}
