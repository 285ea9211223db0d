import type { ServerResponse } from 'node:http'

export interface UnreadLimits {
  /** For a client to read its answer. */
  readingTimeoutMs: number
  /** What all answers together may hold that their clients have not read. */
  maxUnreadBytes: number
}

/** Two of the longest answers of all (25 MB) and some more. */
export const DEFAULT_UNREAD_LIMITS: UnreadLimits = { readingTimeoutMs: 60_000, maxUnreadBytes: 64 * 1024 * 1024 }

/**
 * Watches responses from their begin on. A client that does not read its answer would keep it in memory, and the socket open,
 * for ever, and many of them would fill the memory within its time: then those go first that have waited longest.
 */
export function boundUnread({ readingTimeoutMs, maxUnreadBytes }: UnreadLimits): (response: ServerResponse) => void {
  const unread = new Set<ServerResponse>()
  const makeRoom = (): void => {
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
    // As a rule the system has taken all of it by now.
    if (this.writableLength === 0) return
    const timer = setTimeout(() => this.destroy(), readingTimeoutMs).unref()
    unread.add(this)
    this.once('close', () => {
      clearTimeout(timer)
      unread.delete(this)
    })
    makeRoom()
  }
  return (response) => void response.on('prefinish', onPrefinish)
}
