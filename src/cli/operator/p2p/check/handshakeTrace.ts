import type { ConnectionEncrypter, StreamMuxerFactory } from '@libp2p/interface'
import type { Clock } from '../../../../lib/clock.ts'

/** The progress of a handshake. Times are milliseconds after the start of the dial. */
export interface HandshakeTrace {
  /** Both sides agreed on the security protocol. */
  securityMs?: number
  /** The peer has proved its identity. */
  secureMs?: number
  peerId?: string
  /** The security protocol's own error, before libp2p wraps it. */
  securityError?: unknown
  muxer?: string
  muxerMs?: number
}

/**
 * Wraps libp2p's encrypter and muxer, because libp2p's errors do not name the failed stage. Records the peer's id instead of
 * demanding it: the operator wants to know which peer answered instead.
 */
export function createHandshakeTracer(clock: Clock) {
  let startMs = clock.now()
  const trace: HandshakeTrace = {}
  const sinceStart = (): number => clock.now() - startMs
  return {
    trace,
    begin(): void {
      startMs = clock.now()
    },
    encrypter: (inner: ConnectionEncrypter): ConnectionEncrypter => ({
      protocol: inner.protocol,
      secureInbound: (connection, options) => inner.secureInbound(connection, options),
      async secureOutbound(connection, options = {}) {
        trace.securityMs = sinceStart()
        const { remotePeer: _, ...rest } = options
        try {
          const secured = await inner.secureOutbound(connection, rest)
          trace.secureMs = sinceStart()
          trace.peerId = secured.remotePeer.toString()
          return secured
        } catch (error) {
          trace.securityError = error
          throw error
        }
      },
    }),
    muxer: (inner: StreamMuxerFactory): StreamMuxerFactory => ({
      protocol: inner.protocol,
      createStreamMuxer(connection) {
        trace.muxer = inner.protocol
        trace.muxerMs = sinceStart()
        return inner.createStreamMuxer(connection)
      },
    }),
  }
}
