import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

/**
 * op-node's timing: a round every 3 minutes, with a burst of 10 pings and then one ping a second. This node also pings
 * a peer when it connects.
 */
const ROUND_MS = 3 * 60_000
const BURST = 10
const PACE_MS = 1_000
const PING_TIMEOUT_MS = 10_000
/** Weight of a new measurement, as in go-libp2p's peer store (LatencyEWMASmoothing). */
const SMOOTHING = 0.1

export type LatencyTracker = ReturnType<typeof createLatencyTracker>

/** Pings all connected peers periodically and keeps a smoothed round-trip time. */
export function createLatencyTracker(modules: {
  connected(): string[]
  isConnected(peerId: string): boolean
  /** This call may dial a peer that is not connected. */
  ping(peerId: string, signal: AbortSignal): Promise<number>
  clock: Clock
  logger: Logger
}) {
  const { clock, logger } = modules
  const latencies = new Map<string, number>()
  let isStarted = false
  const controller = new AbortController()
  let cancel: (() => void) | undefined

  const measure = async (peerId: string): Promise<void> => {
    // The peer's ping may come minutes after the round began.
    if (!modules.isConnected(peerId)) return
    try {
      const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(PING_TIMEOUT_MS)])
      const rttMs = await modules.ping(peerId, signal)
      if (!modules.isConnected(peerId)) return
      const before = latencies.get(peerId)
      latencies.set(peerId, before === undefined ? rttMs : before + SMOOTHING * (rttMs - before))
      logger.debug('Pinged peer', { peer: peerId, rttMs })
    } catch (error) {
      if (!controller.signal.aborted) logger.debug('Ping failed', { peer: peerId, err: describeError(error) })
    }
  }
  const round = (): void => {
    const queue = modules.connected()
    for (const peerId of queue.splice(0, BURST)) void measure(peerId)
    const next = (): void => {
      const peerId = queue.shift()
      if (peerId === undefined) {
        cancel = clock.setTimeout(round, ROUND_MS)
        return
      }
      void measure(peerId)
      cancel = clock.setTimeout(next, PACE_MS)
    }
    next()
  }
  return {
    start(): void {
      isStarted = true
      cancel = clock.setTimeout(round, ROUND_MS)
    },
    /** Measures at once, before the first round. */
    onConnected(peerId: string): void {
      if (isStarted) void measure(peerId)
    },
    stop(): void {
      cancel?.()
      controller.abort(new Error('stopping'))
    },
    /** Milliseconds, smoothed; undefined until measured. */
    latencyMs: (peerId: string): number | undefined => latencies.get(peerId),
    forget: (peerId: string): void => void latencies.delete(peerId),
  }
}
