/** Who waits for the outcome of an execution that no block depends on: it ends when they no longer do. */
export interface Patience {
  readonly aborted: boolean
  /** Called between stretches of a few milliseconds. */
  throwIfAborted(): void
  /** Throws where so many bytes are too many to be hashed, or answered with, at one go. Absent: none are. */
  allowBytes?(bytes: number): void
}

/** Hashed in 1 ms, written as an answer in 3. */
const SHORT_BYTES = 262_144

/** Thrown where something takes longer than the event loop of the chain has for it. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError'
}

/**
 * Ends after so many milliseconds, or before a step that takes as many, with a TooLongError: what was begun is to be done
 * elsewhere, from the beginning.
 */
export function shortPatience(ms: number): Patience {
  const endsAt = performance.now() + ms
  return {
    get aborted() {
      return performance.now() >= endsAt
    },
    throwIfAborted() {
      if (this.aborted) throw new TooLongError(`not done in ${ms} ms`)
    },
    allowBytes(bytes) {
      if (bytes > SHORT_BYTES) throw new TooLongError(`${bytes} bytes at one go`)
    },
  }
}
