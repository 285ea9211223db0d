import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { classifyDialFailure, type DialFailureReason } from '../host/dialFailure.ts'

/** The host functions that the connector needs. Peers are named by their ids. */
export interface ConnectorHost {
  connectedCount(): number
  isConnected(peerId: string): boolean
  /** Known peers with a dialable address, without this node. */
  candidates(): Promise<string[]>
  dial(peerId: string, signal: AbortSignal): Promise<void>
}

export interface ConnectorMetrics {
  onDial(result: 'connected' | DialFailureReason): void
}

/** op-node's values (`p2p/discovery.go`). */
export const FAST_INTERVAL_MS = 5_000
export const SLOW_INTERVAL_MS = 20_000
const DIAL_WORKERS = 4
const DIAL_QUEUE = 10
/** Growing pause after failed dials of a peer. go-libp2p's dialler has the same. */
const retryAfterMs = exponentialBackoff(FAST_INTERVAL_MS, 300_000)
const REMEMBERED_FAILURES = 4096

export type Connector = ReturnType<typeof createConnector>

/**
 * Dials known peers in random order until `goal` are connected. It checks every 5 s below the goal, every 20 s
 * otherwise.
 */
export function createConnector(
  modules: {
    host: ConnectorHost
    clock: Clock
    logger: Logger
    metrics: ConnectorMetrics
    random?: () => number
  },
  options: { goal: number; dialTimeoutMs: number },
) {
  const { host, clock, logger, metrics } = modules
  const random = modules.random ?? Math.random
  const stopping = new AbortController()
  const failures = new LruMap<string, { count: number; retryAtMs: number }>(REMEMBERED_FAILURES)
  const dialling = new Set<string>()
  let queue: string[] = []
  let cancel: (() => void) | undefined
  let isChecking = false
  /** True: a new candidate was reported while the candidates were read. */
  let isOutdated = false
  let isRunning = false

  const wanted = (): boolean => isRunning && host.connectedCount() < options.goal
  const schedule = (delayMs: number): void => {
    cancel?.()
    cancel = clock.setTimeout(() => void check(), delayMs)
  }
  const check = async (): Promise<void> => {
    if (!isRunning) return
    if (isChecking) {
      isOutdated = true
      return
    }
    isChecking = true
    isOutdated = false
    try {
      if (wanted()) await fillQueue()
    } catch (error) {
      logger.debug('Search for peers to dial failed', { err: describeError(error) })
    } finally {
      isChecking = false
    }
    if (!isRunning) return
    work()
    schedule(!wanted() ? SLOW_INTERVAL_MS : isOutdated ? 0 : FAST_INTERVAL_MS)
  }
  const fillQueue = async (): Promise<void> => {
    const nowMs = clock.now()
    const found = (await host.candidates()).filter(
      (id) => !host.isConnected(id) && !dialling.has(id) && (failures.get(id)?.retryAtMs ?? 0) <= nowMs,
    )
    const drawn = found.map((id) => ({ id, lot: random() })).sort((a, b) => a.lot - b.lot)
    queue = drawn.slice(0, DIAL_QUEUE).map(({ id }) => id)
  }
  const work = (): void => {
    while (dialling.size < DIAL_WORKERS && host.connectedCount() + dialling.size < options.goal && isRunning) {
      const next = queue.shift()
      if (next === undefined) return
      if (!host.isConnected(next) && !dialling.has(next)) void dial(next)
    }
  }
  const dial = async (peerId: string): Promise<void> => {
    dialling.add(peerId)
    const timeout = new AbortController()
    const cancelTimeout = clock.setTimeout(() => timeout.abort(new Error('dial timed out')), options.dialTimeoutMs)
    try {
      await host.dial(peerId, AbortSignal.any([stopping.signal, timeout.signal]))
      failures.set(peerId, { count: 0, retryAtMs: 0 })
      metrics.onDial('connected')
    } catch (error) {
      const count = (failures.get(peerId)?.count ?? 0) + 1
      failures.set(peerId, { count, retryAtMs: clock.now() + retryAfterMs(count) })
      if (isRunning) {
        const { reason, text } = classifyDialFailure(error)
        metrics.onDial(reason)
        logger.debug('Discovered peer dial failed', { peer: peerId, reason, err: text })
      }
    } finally {
      cancelTimeout()
      dialling.delete(peerId)
    }
    work()
  }
  return {
    start(): void {
      isRunning = true
      void check()
    },
    stop(): void {
      isRunning = false
      cancel?.()
      stopping.abort(new Error('stopping'))
    },
    /** A new candidate is available. Checks at once if more peers are wanted. */
    onCandidate(peerId: string): void {
      failures.set(peerId, { count: 0, retryAtMs: 0 })
      // In a small network this peer may be the only one, so do not wait five seconds.
      if (wanted() && !host.isConnected(peerId)) schedule(0)
    },
  }
}
