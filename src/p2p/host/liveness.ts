import { randomBytes } from 'node:crypto'
import type { Connection } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { readFirst } from '../streams.ts'

/** libp2p's ping (specs: ping). */
const PING_PROTOCOL = '/ipfs/ping/1.0.0'
const PING_BYTES = 32

/** Closes connections whose other end has silently gone: the system itself notices after a quarter of an hour. */
export interface LivenessMonitor {
  start(): void
  stop(): void
  /** Looks at one connection now, for example because its peer has opened another. */
  check(connection: Connection): Promise<void>
}

/** Asks each of the watched connections for a sign of life, and closes those that give none in time. */
export function createLivenessMonitor(
  modules: { watched(): Connection[]; clock: Clock; logger: Logger },
  options: { intervalMs: number; timeoutMs: number },
): LivenessMonitor {
  const { clock, logger } = modules
  const controller = new AbortController()
  let cancel: (() => void) | undefined

  const check = async (connection: Connection): Promise<void> => {
    if (await answers(connection, options.timeoutMs, controller.signal)) return
    if (controller.signal.aborted || connection.status !== 'open') return
    logger.info('Connection gives no sign of life, closing it', {
      peer: connection.remotePeer.toString(),
      addr: connection.remoteAddr.toString(),
    })
    connection.abort(new Error('no sign of life'))
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(() => {
      void Promise.all(modules.watched().map(check)).then(() => {
        if (!controller.signal.aborted) schedule()
      })
    }, options.intervalMs)
  }
  return {
    start: schedule,
    stop() {
      cancel?.()
      controller.abort(new Error('stopping'))
    },
    check,
  }
}

/** False only when nothing came in time: a refusal of the protocol is a sign of life too. */
async function answers(connection: Connection, timeoutMs: number, stop: AbortSignal): Promise<boolean> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([timeout, stop])
  try {
    const stream = await connection.newStream(PING_PROTOCOL, { signal })
    const reading = readFirst(stream, PING_BYTES, signal)
    stream.send(new Uint8Array(randomBytes(PING_BYTES)))
    await reading.finally(() => stream.abort(new Error('ping is over')))
    return !timeout.aborted
  } catch {
    return !timeout.aborted
  }
}
