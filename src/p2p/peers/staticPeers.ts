import type { Multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { classifyDialFailure, type DialFailure } from '../host/dialFailure.ts'
import type { PeerAddress } from '../host/multiaddrs.ts'

export interface Dialer {
  isConnected(peerId: string): boolean
  /**
   * Dials all addresses of one peer; resolves when connected. `beside`: dial although the peer is connected already.
   */
  dial(addresses: readonly Multiaddr[], signal: AbortSignal, options: { beside: boolean }): Promise<void>
  /** Closes all connections of the peer but the newest. */
  closeOlder(peerId: string): void
}

/** op-node's values: 30 s for a dial, one check of its static peers a minute. */
const DIAL_TIMEOUT_MS = 30_000
const REPORT_INTERVAL_MS = 60_000
/** The pause between dials is a tenth of the downtime: short outages end soon, long ones cost little. */
const PAUSE_PART = 10
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 5_000
/**
 * The dial timeout of a peer that was connected before is a third of its downtime. A dial into a network that drops all
 * packets is then repeated soon.
 */
const DIAL_TIMEOUT_PART = 3
const MIN_DIAL_TIMEOUT_MS = 1_000
/** A connection that closes sooner does not count as stable: a peer that refuses us closes right after connecting. */
export const STABLE_MS = 2_000
/** The reason code of such a close in the log and the health report. */
export const CLOSED_EARLY = 'closed-early'
export const closedEarlyText = (stoodMs: number): string =>
  `it closed the connection ${stoodMs} ms after it opened: it has blocked or banned us, or is full`
/** Backoff for a peer that closes early. */
const refusedBackoff = exponentialBackoff(500, MAX_PAUSE_MS, 250)

interface Entry {
  id: string
  addresses: Multiaddr[]
  failures: number
  refusals: number
  wasConnected: boolean
  suspected: boolean
  connectedAtMs: number | undefined
  /** Start of the downtime, for the log. An early-closed connection does not reset it. */
  awaySinceMs: number
  /** End of the last connection, however short, or begin of its silence. */
  lostAtMs: number
  reportedAtMs: number
  /** True: the last log line about this peer says that it is disconnected. */
  isLoggedDisconnected: boolean
  cancelReconnectionLog: (() => void) | undefined
  cancelTimer: (() => void) | undefined
  dialing: boolean
}

export type StaticPeers = ReturnType<typeof createStaticPeers>

/**
 * Keeps a connection to each static peer. Dials at the start, again at once when a stable connection closes, and then
 * with growing pauses. Never stops trying.
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
      isLoggedDisconnected: false,
      cancelReconnectionLog: undefined,
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
  const onAway = (entry: Entry): void => {
    entry.awaySinceMs = clock.now()
    entry.lostAtMs = clock.now()
    entry.reportedAtMs = clock.now()
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
      logReconnection(entry)
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
    // A connection that closed during this dial has scheduled its own retry.
    if (!running || !isMissing(entry) || entry.cancelTimer !== undefined) return
    entry.failures += 1
    schedule(entry, pauseMs(entry))
  }

  const report = (entry: Entry, why: { reason: string; err: string }): void => {
    const fields = { peer: entry.id, addr: entry.addresses[0]?.toString(), ...why }
    const nowMs = clock.now()
    if (nowMs - entry.reportedAtMs >= REPORT_INTERVAL_MS) {
      entry.reportedAtMs = nowMs
      logger.warn('Static peer is disconnected, still trying', {
        ...fields,
        awaySeconds: Math.round((nowMs - entry.awaySinceMs) / 1000),
      })
      entry.isLoggedDisconnected = true
    } else if (entry.suspected && !entry.isLoggedDisconnected) {
      logger.info('Static peer is silent, and a second connection failed', fields)
      entry.isLoggedDisconnected = true
    } else if (entry.failures === 0) {
      logger.info('Static peer is not reachable yet, trying again', fields)
      entry.isLoggedDisconnected = true
    } else {
      logger.debug('Static peer dial failed', fields)
    }
  }
  const logReconnection = (entry: Entry): void => {
    if (!entry.isLoggedDisconnected) return
    const awaySeconds = Math.round((clock.now() - entry.awaySinceMs) / 1000)
    entry.cancelReconnectionLog?.()
    entry.cancelReconnectionLog = clock.setTimeout(() => {
      entry.isLoggedDisconnected = false
      logger.info('Static peer is connected', { peer: entry.id, awaySeconds })
    }, STABLE_MS)
  }

  return {
    start(): void {
      running = true
      for (const entry of entries.values()) {
        onAway(entry)
        schedule(entry, 0)
      }
    },
    stop(): void {
      running = false
      controller.abort(new Error('stopping'))
      for (const entry of entries.values()) {
        entry.cancelTimer?.()
        entry.cancelReconnectionLog?.()
      }
    },
    /** Must be called on every connection. `onDisconnected` likewise on every disconnection. */
    onConnected(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry === undefined) return
      entry.connectedAtMs = clock.now()
      entry.wasConnected = true
      entry.cancelTimer?.()
      entry.cancelTimer = undefined
      if (running) logReconnection(entry)
    },
    onDisconnected(peerId: string, end?: { by: 'us' | 'peer'; cause: string }): void {
      const entry = entries.get(peerId)
      if (entry === undefined || !running) return
      entry.cancelReconnectionLog?.()
      const stoodMs = entry.connectedAtMs === undefined ? 0 : clock.now() - entry.connectedAtMs
      entry.connectedAtMs = undefined
      entry.lostAtMs = clock.now()
      entry.suspected = false
      if (stoodMs >= STABLE_MS) {
        entry.failures = 0
        entry.refusals = 0
        onAway(entry)
        logger.info('Static peer disconnected, reconnecting', { peer: peerId })
        entry.isLoggedDisconnected = true
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
    /** Dials at once, for example after a block was lifted. */
    retryNow(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry === undefined || !running) return
      entry.failures = 0
      entry.refusals = 0
      schedule(entry, 0)
    },
    /** The peer is connected but silent. Dials a second connection until that succeeds, or until `onAlive`. */
    onSuspect(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry === undefined || !running || entry.suspected || !dialer.isConnected(peerId)) return
      entry.suspected = true
      entry.cancelReconnectionLog?.()
      onAway(entry)
      logger.debug('Static peer is silent, trying another connection', { peer: peerId })
      schedule(entry, 0)
    },
    onAlive(peerId: string): void {
      const entry = entries.get(peerId)
      if (entry?.suspected !== true) return
      entry.suspected = false
      entry.cancelTimer?.()
      entry.cancelTimer = undefined
      logReconnection(entry)
    },
  }
}
