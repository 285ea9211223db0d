import { randomBytes } from 'node:crypto'
import type { Stream } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { LivenessOptions } from '../base/options.ts'
import { type Readable, readFirst } from '../base/streams.ts'
import { PING_BYTES, PING_PROTOCOL } from '../host/pingServer.ts'
import { socketOf } from '../host/socketOf.ts'

/**
 * With many watched connections each is asked less often: a ping costs both sides a millisecond, and the more links a
 * node has, the less it matters when one of them is dead.
 */
const PINGS_PER_SECOND = 2
/** Looks in the time that silence is allowed to last. */
const LOOKS = 4
/** A connection beside which its peer has opened another has this many answer times to prove itself. */
const RIVAL_ANSWERS = 3

/** A connection as far as it is looked at. */
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
  asking: boolean
  suspected: boolean
  closeAtMs: number | undefined
}

/**
 * Notices connections whose other end has silently gone: the system itself does after a quarter of an hour.
 * Any byte is a sign of life, as the socket counts them, so a slow link is not taken for a dead one, and a busy one
 * costs nothing. Silent ones are asked by a ping.
 */
export function createLivenessMonitor(
  modules: {
    watched(): WatchedConnection[]
    /** None of the connections of this peer gives a sign of life. */
    onSuspect(peerId: string): void
    /** One does again. */
    onAlive(peerId: string): void
    clock: Clock
    logger: Logger
  },
  options: LivenessOptions,
) {
  const { clock, logger } = modules
  const controller = new AbortController()
  /** Of those looked at now: what is not looked at for a while has not been silent for that. */
  const states = new Map<WatchedConnection, Watched>()
  /** Checked although nobody watches them. */
  const checked = new Set<WatchedConnection>()
  const intervalMs = options.silentMs / LOOKS
  let lookedAtMs = 0
  let cancel: (() => void) | undefined

  const stateOf = (connection: WatchedConnection): Watched => {
    let state = states.get(connection)
    if (state === undefined) {
      state = { bytesRead: 0, lifeAtMs: clock.now(), asking: false, suspected: false, closeAtMs: undefined }
      states.set(connection, state)
    }
    return state
  }
  const ask = async (connection: WatchedConnection, state: Watched): Promise<void> => {
    if (state.asking) return
    state.asking = true
    if (await answers(connection, options.closeMs, controller.signal)) state.lifeAtMs = clock.now()
    state.asking = false
  }
  /** Milliseconds since the last sign of life. */
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
  const look = (): void => {
    const nowMs = clock.now()
    const watched = modules.watched()
    const extraMs = Math.max(0, (watched.length * 1000) / PINGS_PER_SECOND - options.silentMs)
    // This process slept, or was too busy to read: what came meanwhile has not been counted. Or the clock was set, back too.
    const isBehind = nowMs < lookedAtMs || nowMs - lookedAtMs > options.silentMs + intervalMs
    lookedAtMs = nowMs
    const peers = new Map<string, boolean>()
    const lookedAt = new Set([...watched, ...checked])
    for (const connection of states.keys()) if (!lookedAt.has(connection)) states.delete(connection)
    for (const connection of lookedAt) {
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
      if (silentMs >= options.silentMs + extraMs) void ask(connection, state)
      if (state.closeAtMs === undefined) checked.delete(connection)
      const isSilent = silentMs >= options.silentMs + extraMs + options.answerMs
      const peer = connection.remotePeer.toString()
      peers.set(peer, (peers.get(peer) ?? true) && isSilent)
    }
    for (const [peer, isSilent] of peers) (isSilent ? modules.onSuspect : modules.onAlive)(peer)
  }
  const close = (connection: WatchedConnection): void => {
    checked.delete(connection)
    logger.info('Connection gives no sign of life, closing it', {
      peer: connection.remotePeer.toString(),
      addr: connection.remoteAddr.toString(),
    })
    connection.abort(new Error('no sign of life'))
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(() => {
      look()
      schedule()
    }, intervalMs)
  }
  return {
    start(): void {
      lookedAtMs = clock.now()
      schedule()
    },
    stop(): void {
      cancel?.()
      controller.abort(new Error('stopping'))
    },
    /** Looks at one connection now, for example because its peer has opened another. */
    check(connection: WatchedConnection): void {
      if (connection.status !== 'open') return
      const state = stateOf(connection)
      silence(connection, clock.now())
      state.closeAtMs = clock.now() + RIVAL_ANSWERS * options.answerMs
      checked.add(connection)
      void ask(connection, state).then(() => {
        if (clock.now() - state.lifeAtMs < options.answerMs) state.closeAtMs = undefined
      })
    },
  }
}

/** False only when nothing came in time: a refusal of the protocol is a sign of life too. */
async function answers(connection: WatchedConnection, timeoutMs: number, stop: AbortSignal): Promise<boolean> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([timeout, stop])
  try {
    const stream = await connection.newStream([PING_PROTOCOL], { signal })
    const reading = readFirst(stream, PING_BYTES, signal)
    // Should sending fail, nobody waits for it.
    reading.catch(() => {})
    stream.send(new Uint8Array(randomBytes(PING_BYTES)))
    await reading.finally(() => stream.abort(new Error('ping is over')))
    return !timeout.aborted
  } catch {
    return !timeout.aborted
  }
}
