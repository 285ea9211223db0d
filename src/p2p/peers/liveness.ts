import { randomBytes } from 'node:crypto'
import type { Stream } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { LivenessOptions } from '../base/options.ts'
import { type Readable, readFirst } from '../base/streams.ts'
import { PING_BYTES, PING_PROTOCOL } from '../host/pingServer.ts'
import { socketOf } from '../host/socketOf.ts'

/**
 * With many watched connections, each is pinged less often. A ping costs both sides a millisecond, and with many
 * connections a dead one matters less.
 */
const PINGS_PER_SECOND = 2
/** Number of checks within `silentMs`. */
const CHECKS = 4
/** When a peer opens another connection, the old one has this many answer times to respond. */
const RIVAL_ANSWERS = 3

/** The members of a connection that the monitor uses. */
export interface WatchedConnection {
  readonly remotePeer: { toString(): string }
  readonly remoteAddr: { toString(): string }
  readonly status: string
  newStream(protocols: string[], options: { signal: AbortSignal }): Promise<Readable & Pick<Stream, 'send' | 'abort'>>
  abort(error: Error): void
}

interface Watched {
  bytesRead: number
  lifeAtMs: number
  probing: boolean
  suspected: boolean
  closeAtMs: number | undefined
}

/**
 * Detects connections whose remote end disappeared without a close. TCP alone detects this after a quarter of an hour.
 * Any byte that the socket counts is a sign of life, so a slow connection is not mistaken for a dead one, and a busy
 * one costs nothing. Silent connections are pinged.
 */
export function createLivenessMonitor(
  modules: {
    watched(): WatchedConnection[]
    /** All connections of this peer are silent. */
    onSuspect(peerId: string): void
    /** A connection of this peer responds again. */
    onAlive(peerId: string): void
    clock: Clock
    logger: Logger
  },
  options: LivenessOptions,
) {
  const { clock, logger } = modules
  const controller = new AbortController()
  /**
   * Only currently watched connections. A connection that was unwatched for a while must not count as silent for that
   * time.
   */
  const states = new Map<WatchedConnection, Watched>()
  /** Connections that are checked although `watched` does not list them. */
  const checked = new Set<WatchedConnection>()
  const intervalMs = options.silentMs / CHECKS
  let checkedAtMs = 0
  let cancel: (() => void) | undefined

  const stateOf = (connection: WatchedConnection): Watched => {
    let state = states.get(connection)
    if (state === undefined) {
      state = { bytesRead: 0, lifeAtMs: clock.now(), probing: false, suspected: false, closeAtMs: undefined }
      states.set(connection, state)
    }
    return state
  }
  const probe = async (connection: WatchedConnection, state: Watched): Promise<void> => {
    if (state.probing) return
    state.probing = true
    if (await answers(connection, options.closeMs, controller.signal)) state.lifeAtMs = clock.now()
    state.probing = false
  }
  const silence = (connection: WatchedConnection, nowMs: number): number => {
    const state = stateOf(connection)
    const bytesRead = socketOf(connection)?.bytesRead ?? 0
    if (bytesRead !== state.bytesRead) {
      state.bytesRead = bytesRead
      state.lifeAtMs = nowMs
      state.closeAtMs = undefined
    }
    return nowMs - state.lifeAtMs
  }
  const checkAll = (): void => {
    const nowMs = clock.now()
    const watched = modules.watched()
    const extraMs = Math.max(0, (watched.length * 1000) / PINGS_PER_SECOND - options.silentMs)
    // The process slept, was too busy to read, or the clock was set. Data that arrived meanwhile is not counted yet.
    const isBehind = nowMs < checkedAtMs || nowMs - checkedAtMs > options.silentMs + intervalMs
    checkedAtMs = nowMs
    const peers = new Map<string, boolean>()
    const current = new Set([...watched, ...checked])
    for (const connection of states.keys()) if (!current.has(connection)) states.delete(connection)
    for (const connection of current) {
      if (connection.status !== 'open') {
        checked.delete(connection)
        continue
      }
      const state = stateOf(connection)
      if (isBehind) {
        state.lifeAtMs = nowMs
        if (state.closeAtMs !== undefined) state.closeAtMs = nowMs + RIVAL_ANSWERS * options.answerMs
      }
      const silentMs = silence(connection, nowMs)
      if (silentMs >= options.closeMs + extraMs || (state.closeAtMs !== undefined && nowMs >= state.closeAtMs)) {
        close(connection)
        continue
      }
      if (silentMs >= options.silentMs + extraMs) void probe(connection, state)
      if (state.closeAtMs === undefined) checked.delete(connection)
      const isSilent = silentMs >= options.silentMs + extraMs + options.answerMs
      const peer = connection.remotePeer.toString()
      peers.set(peer, (peers.get(peer) ?? true) && isSilent)
    }
    for (const [peer, isSilent] of peers) (isSilent ? modules.onSuspect : modules.onAlive)(peer)
  }
  const close = (connection: WatchedConnection): void => {
    checked.delete(connection)
    logger.info('Connection is silent, closing it', {
      peer: connection.remotePeer.toString(),
      addr: connection.remoteAddr.toString(),
    })
    connection.abort(new Error('connection is silent'))
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(() => {
      checkAll()
      schedule()
    }, intervalMs)
  }
  return {
    start(): void {
      checkedAtMs = clock.now()
      schedule()
    },
    stop(): void {
      cancel?.()
      controller.abort(new Error('stopping'))
    },
    /** Checks one connection now, for example because its peer opened another. */
    check(connection: WatchedConnection): void {
      if (connection.status !== 'open') return
      const state = stateOf(connection)
      silence(connection, clock.now())
      state.closeAtMs = clock.now() + RIVAL_ANSWERS * options.answerMs
      checked.add(connection)
      void probe(connection, state).then(() => {
        if (clock.now() - state.lifeAtMs < options.answerMs) state.closeAtMs = undefined
      })
    },
  }
}

/** False only when nothing arrived in time. A refusal of the protocol is a sign of life too. */
async function answers(connection: WatchedConnection, timeoutMs: number, stop: AbortSignal): Promise<boolean> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([timeout, stop])
  try {
    const stream = await connection.newStream([PING_PROTOCOL], { signal })
    const reading = readFirst(stream, PING_BYTES, signal)
    // If sending fails, nothing awaits this promise.
    reading.catch(() => {})
    stream.send(new Uint8Array(randomBytes(PING_BYTES)))
    await reading.finally(() => stream.abort(new Error('ping is over')))
    return !timeout.aborted
  } catch {
    return !timeout.aborted
  }
}
