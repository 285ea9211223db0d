import type { ServerResponse } from 'node:http'

export interface UnreadLimits {
  /** Time limit for a client to read its answer. */
  readingTimeoutMs: number
  /** Total bytes of answers that clients have not read. */
  maxUnreadBytes: number
}

/** Space for the largest answer (a trace of 50 MB) or two answers of the other methods (25 MB), and a reserve. */
export const DEFAULT_UNREAD_LIMITS: UnreadLimits = { readingTimeoutMs: 60_000, maxUnreadBytes: 64 * 1024 * 1024 }

/**
 * Limits answers that clients do not read. Without a limit, such a client would keep its answer in memory and its
 * socket open for ever. If the total exceeds `maxUnreadBytes`, the oldest answers are dropped first.
 */
export function boundUnread({ readingTimeoutMs, maxUnreadBytes }: UnreadLimits): (response: ServerResponse) => void {
  const unread = new Set<ServerResponse>()
  const evictOldest = (): void => {
    let bytes = 0
    for (const { writableLength } of unread) bytes += writableLength
    for (const oldest of unread) {
      if (bytes <= maxUnreadBytes) return
      bytes -= oldest.writableLength
      unread.delete(oldest)
      oldest.destroy()
    }
  }
  function onPrefinish(this: ServerResponse): void {
    // Usually the operating system has already taken all bytes.
    if (this.writableLength === 0) return
    const timer = setTimeout(() => this.destroy(), readingTimeoutMs).unref()
    unread.add(this)
    this.once('close', () => {
      clearTimeout(timer)
      unread.delete(this)
    })
    evictOldest()
  }
  return (response) => void response.on('prefinish', onPrefinish)
}
