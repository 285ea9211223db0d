/** Codes of a server that is there and cannot answer now: it has too much to do, or what it hands requests to is starting. */
const BUSY = new Set<unknown>([408, 429, 502, 503, 504])

export function isBusyStatus(status: unknown): boolean {
  return BUSY.has(status)
}

/** Programs that are started together come up within seconds; longer than this, something is wrong. */
export const STARTING_PATIENCE_MS = 10_000
/** One that is there, and has too much to do to answer. */
export const BUSY_PATIENCE_MS = 60_000
