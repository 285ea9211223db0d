/** Status codes of a server that is reachable but overloaded, or whose backend is starting. */
const BUSY = new Set<unknown>([408, 429, 502, 503, 504])

export function isBusyStatus(status: unknown): boolean {
  return BUSY.has(status)
}

/** Programs that are started together come up within seconds. A longer failure is a fault. */
export const STARTING_TIMEOUT_MS = 10_000
/** For a server that is reachable but overloaded. */
export const BUSY_TIMEOUT_MS = 60_000
