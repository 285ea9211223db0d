/** Whether something that the submitter asks answers. */
export interface Reachability {
  /** Undefined: not asked yet. */
  lastAnswerMs: number | undefined
  /** Why the last request failed; undefined when it did not. */
  error: string | undefined
}
