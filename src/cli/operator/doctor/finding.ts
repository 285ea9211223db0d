/** Whom a finding is about. */
export type Subject = 'version' | 'engine' | 'L1' | 'beacon' | 'flags'

/** Something that stops the node at a time, or that the operator should know before a fork. */
export interface Finding {
  code: string
  subject: Subject
  /** Which fork brings it; null where none has to come. */
  fork: string | null
  /** When the node stops following the chain for it: Unix seconds, or now; null: it does not stop. */
  stops: number | 'now' | null
  /** The cause, then what follows. */
  text: string
  /** A command, or what to do. */
  next: string
}

/** Orders findings: the first to stop the node comes first, one that stops nothing comes last. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const rank = ({ stops }: Finding) => (stops === 'now' ? 0 : (stops ?? Number.POSITIVE_INFINITY))
  return [...findings].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)))
}

/** `now` for a moment that has passed. */
export function stopsAt(time: number, nowS: number): number | 'now' {
  return time <= nowS ? 'now' : time
}
