/** The part of the setup that a finding concerns. */
export type Subject = 'version' | 'engine' | 'L1' | 'beacon' | 'followed node' | 'flags'

/** A problem that stops the node at a time, or that the operator should know before a fork. */
export interface Finding {
  code: string
  subject: Subject
  /** The fork that causes the problem; null if no fork causes it. */
  fork: string | null
  /** When the node stops following the chain: Unix seconds, or now; null: it does not stop. */
  stops: number | 'now' | null
  /** The cause, then the effect. */
  text: string
  /** A command or an instruction. */
  next: string
}

/** Creates findings on a part of the setup. */
export function findingOn(subject: Subject, stops: Finding['stops'], fork: string | null = null) {
  return (code: string, text: string, next: string): Finding => ({ code, subject, fork, stops, text, next })
}

/** Sorts findings by the time at which they stop the node. Findings that stop nothing come last. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const rank = ({ stops }: Finding) => (stops === 'now' ? 0 : (stops ?? Number.POSITIVE_INFINITY))
  return [...findings].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)))
}

/** `now` for a time that has passed. */
export function stopsAt(time: number, nowS: number): number | 'now' {
  return time <= nowS ? 'now' : time
}
