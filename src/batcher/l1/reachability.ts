/** Whether an endpoint answers the submitter's requests. */
export interface Reachability {
  /** Undefined until the endpoint has answered once. */
  lastAnswerMs: number | undefined
  /** Why the last request failed. Undefined if it succeeded. */
  error: string | undefined
}
