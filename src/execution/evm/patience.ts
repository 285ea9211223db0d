/** Who waits for the outcome of an execution that no block depends on: it ends when they no longer do. */
export interface Patience {
  readonly aborted: boolean
  /** Called between stretches of a few milliseconds. */
  throwIfAborted(): void
}

/** Thrown where something takes longer than the event loop of the chain has for it. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError'
}

/** Ends after so many milliseconds with a TooLongError: what was begun is to be done elsewhere, from the beginning. */
export function shortPatience(ms: number): Patience {
  const endsAt = performance.now() + ms
  return {
    get aborted() {
      return performance.now() >= endsAt
    },
    throwIfAborted() {
      if (this.aborted) throw new TooLongError(`not done in ${ms} ms`)
    },
  }
}
