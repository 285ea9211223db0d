import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { classifyDialFailure } from './dialFailure.ts'
import type { PeerAddress } from './multiaddrs.ts'

/** The host as the static peers need it. */
export interface Dialer {
  isConnected(peerId: string): boolean
  /** Dials all addresses of one peer; resolves when connected. */
  dial(peers: readonly PeerAddress[], signal: AbortSignal): Promise<void>
}

export interface StaticPeers {
  start(): void
  stop(): void
  has(peerId: string): boolean
  ids(): string[]
  /** Tell it of every connection and disconnection. */
  onConnected(peerId: string): void
  onDisconnected(peerId: string, end?: { by: 'us' | 'peer'; cause: string }): void
  /** Dials again at once, for example after a block was lifted. */
  retryNow(peerId: string): void
}

/** op-node gives a dial 30 s, and looks after its static peers once a minute. */
const DIAL_TIMEOUT_MS = 30_000
const REPORT_INTERVAL_MS = 60_000
/** First retry after half a second; a peer that stays away is tried every 5 s, one SYN each. */
const backoff = exponentialBackoff(500, 5_000, 250)
/** A connection that falls sooner does not count: a peer that refuses us closes right after connecting. */
const STABLE_MS = 5_000

interface Entry {
  id: string
  addresses: PeerAddress[]
  failures: number
  connectedAtMs: number | undefined
  /** Since when it is missing, for the log. */
  awaySinceMs: number
  reportedAtMs: number
  cancelTimer: (() => void) | undefined
  dialing: boolean
}

/**
 * Keeps a connection to each static peer: dials at the start, again at once when a standing connection falls, then
 * with growing pauses. Never gives up.
 */
export function createStaticPeers(
  modules: { dialer: Dialer; clock: Clock; logger: Logger },
  addresses: readonly PeerAddress[],
): StaticPeers {
  const { dialer, clock, logger } = modules
  const entries = new Map<string, Entry>()
  const controller = new AbortController()
  let running = false

  for (const address of addresses) {
    const id = address.peerId.toString()
    const entry = entries.get(id) ?? {
      id,
      addresses: [],
      failures: 0,
      connectedAtMs: undefined,
      awaySinceMs: clock.now(),
      reportedAtMs: clock.now(),
      cancelTimer: undefined,
      dialing: false,
    }
    entry.addresses.push(address)
    entries.set(id, entry)
  }

  const schedule = (entry: Entry, delayMs: number): void => {
    entry.cancelTimer?.()
    entry.cancelTimer = clock.setTimeout(() => {
      entry.cancelTimer = undefined
      void dial(entry)
    }, delayMs)
  }

  const dial = async (entry: Entry): Promise<void> => {
    if (!running || entry.dialing || dialer.isConnected(entry.id)) return
    entry.dialing = true
    try {
      await dialer.dial(entry.addresses, AbortSignal.any([controller.signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)]))
    } catch (error) {
      if (running) {
        const { reason, text } = classifyDialFailure(error)
        report(entry, { reason, err: text })
      }
    } finally {
      entry.dialing = false
    }
    if (running && !dialer.isConnected(entry.id)) {
      entry.failures += 1
      schedule(entry, backoff(entry.failures))
    }
  }

  const report = (entry: Entry, why: { reason: string; err: string }): void => {
    const fields = { peer: entry.id, addr: entry.addresses[0]?.address.toString(), ...why }
    const nowMs = clock.now()
    if (nowMs - entry.reportedAtMs >= REPORT_INTERVAL_MS) {
      entry.reportedAtMs = nowMs
      logger.warn('Static peer is away, still trying', {
        ...fields,
        awaySeconds: Math.round((nowMs - entry.awaySinceMs) / 1000),
      })
    } else if (entry.failures === 0) {
      logger.info('Static peer is not reachable yet, trying again', fields)
    } else {
      logger.debug('Static peer dial failed', fields)
    }
  }

  return {
    start() {
      running = true
      for (const entry of entries.values()) {
        entry.awaySinceMs = clock.now()
        entry.reportedAtMs = clock.now()
        schedule(entry, 0)
      }
    },
    stop() {
      running = false
      controller.abort(new Error('stopping'))
      for (const entry of entries.values()) entry.cancelTimer?.()
    },
    has: (peerId) => entries.has(peerId),
    ids: () => [...entries.keys()],
    onConnected(peerId) {
      const entry = entries.get(peerId)
      if (entry === undefined) return
      entry.connectedAtMs = clock.now()
      entry.cancelTimer?.()
      entry.cancelTimer = undefined
    },
    onDisconnected(peerId, end) {
      const entry = entries.get(peerId)
      if (entry === undefined || !running) return
      const stoodMs = entry.connectedAtMs === undefined ? 0 : clock.now() - entry.connectedAtMs
      entry.connectedAtMs = undefined
      if (stoodMs >= STABLE_MS) {
        entry.failures = 0
        entry.awaySinceMs = clock.now()
        entry.reportedAtMs = clock.now()
        logger.info('Static peer disconnected, reconnecting', { peer: peerId })
        schedule(entry, 0)
      } else {
        if (end?.by === 'peer') {
          report(entry, {
            reason: 'closed-early',
            err: `it closed the connection ${stoodMs} ms after it stood: it has blocked or banned us, or is full`,
          })
        }
        entry.failures += 1
        schedule(entry, backoff(entry.failures))
      }
    },
    retryNow(peerId) {
      const entry = entries.get(peerId)
      if (entry === undefined || !running) return
      entry.failures = 0
      schedule(entry, 0)
    },
  }
}
