import type { CheckStep } from './steps.ts'

/** What the peer is, as far as it has told. */
export interface VerdictSubject {
  /** Its own name for its program. */
  agent: string | undefined
  /** Chains whose blocks it follows. */
  chainIds: readonly string[]
}

/** A peer may follow, or make up, many. */
const MAX_TOLD = 3

/** One line: where it ends, or that it does not. */
export function verdictOf(steps: readonly CheckStep[], { agent, chainIds }: VerdictSubject): string {
  const failed = steps.filter(({ outcome }) => outcome === 'failed')
  const [first, ...others] = failed
  if (first !== undefined) {
    const isOurs = first.step === 'own node' && others.length === 0 && steps.some(isStanding)
    return isOurs
      ? `the peer is fine, but ${first.text}`
      : `ends at ${first.step}: ${first.text}${others.length === 0 ? '' : ` (then also ${namesOf(others)})`}`
  }
  const warnings = steps.filter(({ outcome }) => outcome === 'warning')
  const notes = warnings.length === 0 ? '' : `; to be looked at: ${namesOf(warnings)}`
  if (!steps.some(isStanding)) return `discovery answers; there is no port to connect to${notes}`
  const facts = [
    ...(agent === undefined ? [] : [agent]),
    ...chainIds.slice(0, MAX_TOLD).map((chainId) => `chain ${chainId}`),
  ]
  return `reachable: ${facts.join(', ')}${notes}`
}

function isStanding({ step, outcome }: CheckStep): boolean {
  return step === 'connection' && outcome === 'ok'
}

function namesOf(steps: readonly CheckStep[]): string {
  return [...new Set(steps.map(({ step }) => step))].join(', ')
}
