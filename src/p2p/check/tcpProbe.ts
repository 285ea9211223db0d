import { connect, type Socket } from 'node:net'
import { concatBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import { classifyDialFailure, type DialFailure } from '../host/dialFailure.ts'
import type { Endpoint } from './resolve.ts'

/** Transport security as libp2p names it. */
const SECURITY_PROTOCOLS = ['/noise', '/tls/1.0.0', '/plaintext/2.0.0'] as const
export type SecurityProtocol = (typeof SECURITY_PROTOCOLS)[number]

/** What a port did with the first words of libp2p. */
export type Greeting =
  /** The first of our protocols that it takes; undefined: none of them. */
  | { kind: 'libp2p'; security: SecurityProtocol | undefined }
  /** It speaks something else; these are its first bytes. */
  | { kind: 'foreign'; firstBytes: Uint8Array }
  | { kind: 'silent' }
  /** Before it answered. */
  | { kind: 'closed'; isReset: boolean }

export type TcpProbe =
  | { kind: 'failed'; failure: DialFailure; tookMs: number }
  | { kind: 'connected'; tookMs: number; greeting: Greeting /** After the connection stood. */; greetingMs: number }

const HEADER = line('/multistream/1.0.0')
const REFUSAL = line('na')
/** Enough to tell a stranger by; then it is waited this long for the rest of what it says. */
const FOREIGN_BYTES = 256
const FOREIGN_WAIT_MS = 200

/**
 * Connects, and asks for each kind of security in turn (libp2p's multistream-select); then closes. Never throws, but
 * for the signal's reason.
 */
export async function probeTcp(
  modules: { clock: Clock },
  endpoint: Endpoint,
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<TcpProbe> {
  const { clock } = modules
  const startMs = clock.now()
  const timeout = AbortSignal.timeout(options.timeoutMs)
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
  let socket: Socket
  try {
    socket = await open(endpoint, signal)
  } catch (error) {
    options.signal?.throwIfAborted()
    return { kind: 'failed', failure: classifyDialFailure(error), tookMs: clock.now() - startMs }
  }
  const connectedMs = clock.now()
  try {
    const greeting = await greet(socket, AbortSignal.timeout(options.timeoutMs), options.signal)
    return { kind: 'connected', tookMs: connectedMs - startMs, greeting, greetingMs: clock.now() - connectedMs }
  } finally {
    socket.destroy()
  }
}

function open({ ip, tcpPort }: Endpoint, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: ip, port: tcpPort, noDelay: true })
    const settle = (error?: unknown): void => {
      signal.removeEventListener('abort', onAbort)
      socket.off('error', settle)
      if (error === undefined) {
        resolve(socket)
      } else {
        socket.on('error', () => {})
        socket.destroy()
        reject(error)
      }
    }
    const onAbort = (): void => settle(signal.reason)
    socket.once('connect', () => settle())
    socket.on('error', settle)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

function greet(socket: Socket, timeout: AbortSignal, stop: AbortSignal | undefined): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    let received: Uint8Array = new Uint8Array()
    let asked = 0
    let foreignTimer: NodeJS.Timeout | undefined
    const finish = (greeting: Greeting): void => {
      clearTimeout(foreignTimer)
      timeout.removeEventListener('abort', onTimeout)
      stop?.removeEventListener('abort', onStop)
      resolve(greeting)
    }
    const onTimeout = (): void => finish(received.length === 0 ? { kind: 'silent' } : foreign())
    const onStop = (): void => {
      clearTimeout(foreignTimer)
      reject(stop?.reason)
    }
    const foreign = (): Greeting => ({ kind: 'foreign', firstBytes: received.subarray(0, FOREIGN_BYTES) })
    const onEnd = (isReset: boolean): void =>
      finish(received.length === 0 || startsWith(received, HEADER) ? { kind: 'closed', isReset } : foreign())
    const ask = (): void => {
      const protocol = SECURITY_PROTOCOLS[asked]
      if (protocol === undefined) finish({ kind: 'libp2p', security: undefined })
      else socket.write(asked === 0 ? concatBytes(HEADER, line(protocol)) : line(protocol))
    }
    const onData = (chunk: Uint8Array): void => {
      received = concatBytes(received, chunk)
      const compared = Math.min(received.length, HEADER.length)
      if (!startsWith(HEADER, received.subarray(0, compared)) || received.length > FOREIGN_BYTES) {
        if (received.length >= FOREIGN_BYTES) finish(foreign())
        else foreignTimer ??= setTimeout(() => finish(foreign()), FOREIGN_WAIT_MS)
        return
      }
      const answer = received.subarray(HEADER.length)
      const protocol = SECURITY_PROTOCOLS[asked]
      if (protocol !== undefined && startsWith(answer, line(protocol))) {
        finish({ kind: 'libp2p', security: protocol })
      } else if (startsWith(answer, REFUSAL)) {
        received = concatBytes(HEADER, answer.subarray(REFUSAL.length))
        asked += 1
        ask()
      } else if (answer.length > line('/plaintext/2.0.0').length) {
        finish(foreign())
      }
    }
    timeout.addEventListener('abort', onTimeout, { once: true })
    if (stop?.aborted) return onStop()
    stop?.addEventListener('abort', onStop, { once: true })
    socket.on('data', onData)
    socket.on('end', () => onEnd(false))
    socket.on('error', () => onEnd(true))
    socket.on('close', () => onEnd(false))
    ask()
  })
}

/** multistream-select: length, text, line feed; the length of each of ours fits one byte. */
function line(text: string): Uint8Array {
  return Uint8Array.from([text.length + 1, ...Buffer.from(`${text}\n`)])
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return bytes.length >= start.length && Buffer.compare(bytes.subarray(0, start.length), start) === 0
}
