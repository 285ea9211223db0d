import type { Multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { classifyDialFailure, type DialFailure } from '../host/dialFailure.ts'
import type { PeerAddress } from '../host/multiaddrs.ts'

/** The host as the static peers need it. */
export interface Dialer {
  isConnected(peerId: string): boolean
  /** Dials all addresses of one peer; resolves when connected. `beside`: although it is connected already. */
  dial(addresses: readonly Multiaddr[], signal: AbortSignal, options: { beside: boolean }): Promise<void>
  /** Closes what connected the peer before its newest connection. */
  closeOlder(peerId: string): void
}

/** op-node gives a dial 30 s, and looks after its static peers once a minute. */
const DIAL_TIMEOUT_MS = 30_000
const REPORT_INTERVAL_MS = 60_000
/** The pause between dials is a tenth of the time that the peer is away: short outages end soon, long ones cost little. */
const PAUSE_PART = 10
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 5_000
/** Of a peer that was connected: a dial into a network that swallows everything is given up soon, and made anew. */
const DIAL_TIMEOUT_PART = 3
const MIN_DIAL_TIMEOUT_MS = 1_000
/** A connection that falls sooner does not count: a peer that refuses us closes right after connecting. */
export const STABLE_MS = 2_000
/** Why such a connection fell, as the log and the health report tell it. */
export const CLOSED_EARLY = 'closed-early'
export const closedEarlyText = (stoodMs: number): string =>
  `it closed the connection ${stoodMs} ms after it stood: it has blocked or banned us, or is full`
/** Of such a peer. */
const refusedBackoff = exponentialBackoff(500, MAX_PAUSE_MS, 250)

interface Entry {
  id: string
  addresses: Multiaddr[]
  /** Dials that failed since it was connected last. */
  failures: number
  /** Connections that fell right away. */
  refusals: number
  wasConnected: boolean
  suspected: boolean
  connectedAtMs: number | undefined
  /** Since when it is missing, for the log; a connection that fell right away does not count. */
  awaySinceMs: number
  /** End of its last connection, however short, or since when that is silent. */
  lostAtMs: number
  reportedAtMs: number
  /** The log's last word of it is that it is away. */
  isToldAway: boolean
  cancelTelling: (() => void) | undefined
  cancelTimer: (() => void) | undefined
  dialing: boolean
}

export type StaticPeers = ReturnType<typeof createStaticPeers>

/**
 * Keeps a connection to each static peer: dials at the start, again at once when a standing connection falls, then
 * with growing pauses. Never gives up.
 */
export function createStaticPeers(
  modules: {
    dialer: Dialer
    clock: Clock
    logger: Logger
    onDialFailed(peerId: string, failure: DialFailure): void
  },
  peers: readonly PeerAddress[],
) {
  const { dialer, clock, logger } = modules
  const entries = new Map<string, Entry>()
  const controller = new AbortController()
  let running = false

  for (const { peerId, address } of peers) {
    const id = peerId.toString()
    const entry = entries.get(id) ?? {
      id,
      addresses: [],
      failures: 0,
      refusals: 0,
      wasConnected: false,
      suspected: false,
      connectedAtMs: undefined,
      awaySinceMs: clock.now(),
      lostAtMs: clock.now(),
      reportedAtMs: clock.now(),
      isToldAway: false,
      cancelTelling: undefined,
      cancelTimer: undefined,
      dialing: false,
    }
    entry.addresses.push(address)
    entries.set(id, entry)
  }

  const isMissing = (entry: Entry): boolean => entry.suspected || !dialer.isConnected(entry.id)
  const pauseMs = (entry: Entry): number => {
    const awayMs = clock.now() - entry.lostAtMs
    const pause = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, awayMs / PAUSE_PART))
    return entry.refusals === 0 ? pause : Math.max(pause, refusedBackoff(entry.refusals))
  }
  const dialTimeoutMs = (entry: Entry): number => {
    if (!entry.wasConnected) return DIAL_TIMEOUT_MS
    const awayMs = clock.now() - entry.lostAtMs
    return Math.min(DIAL_TIMEOUT_MS, Math.max(MIN_DIAL_TIMEOUT_MS, awayMs / DIAL_TIMEOUT_PART))
  }
  const schedule = (entry: Entry, delayMs: number): void => {
    entry.cancelTimer?.()
    entry.cancelTimer = clock.setTimeout(() => {
      entry.cancelTimer = undefined
      void dial(entry)
    }, delayMs)
  }

  const dial = async (entry: Entry): Promise<void> => {
    if (!running || entry.dialing || !isMissing(entry)) return
    entry.dialing = true
    const beside = entry.suspected
    const giveUp = new AbortController()
    const cancelTimeout = clock.setTimeout(() => giveUp.abort(new Error('timed out')), dialTimeoutMs(entry))
    try {
      const signal = AbortSignal.any([controller.signal, giveUp.signal])
      await dialer.dial(entry.addresses, signal, { beside })
      entry.suspected = false
      if (beside) dialer.closeOlder(entry.id)
      tellBack(entry)
    } catch (error) {
      if (running) {
        const failure = classifyDialFailure(error)
        modules.onDialFailed(entry.id, failure)
        report(entry, { reason: failure.reason, err: failure.text })
      }
    } finally {
      cancelTimeout()
      entry.dialing = false
    }
    // A connection that fell while this was under way has set its own time.
    if (!running || !isMissing(entry) || entry.cancelTimer !== undefined) return
    entry.failures += 1
    schedule(entry, pauseMs(entry))
  }

  const report = (entry: Entry, why: { reason: string; err: string }): void => {
    const fields = { peer: entry.id, addr: entry.addresses[0]?.toString(), ...why }
    const nowMs = clock.now()
    if (nowMs - entry.reportedAtMs >= REPORT_INTERVAL_MS) {
      entry.reportedAtMs = nowMs
      logger.warn('Static peer is away, still trying', {
        ...fields,
        awaySeconds: Math.round((nowMs - entry.awaySinceMs) / 1000),
      })
      entry.isToldAway = true
    } else if (entry.suspected && !entry.isToldAway) {
      logger.info('Static peer is silent, and cannot be reached anew yet', fields)
      entry.isToldAway = true
    } else if (entry.failures === 0) {
      logger.info('Static peer is not reachable yet, trying again', fields)
      entry.isToldAway = true
    } else {
      logger.debug('Static peer dial failed', fields)
    }
  }
  /** Once it is there to stay. */
  const tellBack = (entry: Entry): void => {
    if (!entry.isToldAway) return
    const awaySeconds = Math.round((clock.now() - entry.awaySinceMs) / 1000)
    entry.cancelTelling?.()
    entry.cancelTelling = clock.setTimeout(() => {
      entry.isToldAway = false
      logger.info('Static peer is connected', { peer: entry.id, awaySeconds })
    }, STABLE_MS)
  }

  return {
    start(): void {
      running = true
      for (const entry of entries.values()) {
        entry.awaySinceMs = clock.now()
        entry.lostAtMs = clock.now()
        entry.reportedAtMs = clock.now()
        schedule(entry, 0)
      }
    },
    stop(): void {
      running = false
      controller.abort(new Error('stopping'))
      for (const entry of entries.values()) {
        entry.cancelTimer?.()
        entry.cancelTelling?.()
      }
    },
    /** Tell it of every connection and disconnection. */
    onConnected(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry === undefined) return
      entry.connectedAtMs = clock.now()
      entry.wasConnected = true
      entry.cancelTimer?.()
      entry.cancelTimer = undefined
      if (running) tellBack(entry)
    },
    onDisconnected(peerId: string, end?: { by: 'us' | 'peer'; cause: string }): void {
      const entry = entries.get(peerId)
      if (entry === undefined || !running) return
      entry.cancelTelling?.()
      const stoodMs = entry.connectedAtMs === undefined ? 0 : clock.now() - entry.connectedAtMs
      entry.connectedAtMs = undefined
      entry.lostAtMs = clock.now()
      entry.suspected = false
      if (stoodMs >= STABLE_MS) {
        entry.failures = 0
        entry.refusals = 0
        entry.awaySinceMs = clock.now()
        entry.reportedAtMs = clock.now()
        logger.info('Static peer disconnected, reconnecting', { peer: peerId })
        entry.isToldAway = true
        schedule(entry, 0)
      } else {
        if (end?.by === 'peer') {
          report(entry, { reason: CLOSED_EARLY, err: closedEarlyText(stoodMs) })
        }
        entry.failures += 1
        entry.refusals += 1
        schedule(entry, pauseMs(entry))
      }
    },
    /** Dials again at once, for example after a block was lifted. */
    retryNow(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry === undefined || !running) return
      entry.failures = 0
      entry.refusals = 0
      schedule(entry, 0)
    },
    /** It is connected, but nothing comes: tries for a new connection until there is one, or `onAlive`. */
    onSuspect(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry === undefined || !running || entry.suspected || !dialer.isConnected(peerId)) return
      entry.suspected = true
      entry.cancelTelling?.()
      entry.lostAtMs = clock.now()
      entry.awaySinceMs = clock.now()
      entry.reportedAtMs = clock.now()
      logger.debug('Static peer is silent, trying another connection', { peer: peerId })
      schedule(entry, 0)
    },
    onAlive(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry?.suspected !== true) return
      entry.suspected = false
      entry.cancelTimer?.()
      entry.cancelTimer = undefined
      tellBack(entry)
    },
  }
}
