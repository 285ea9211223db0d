import type { ConnectionEncrypter, StreamMuxerFactory } from '@libp2p/interface'
import type { Clock } from '../../../../lib/clock.ts'

/** How far a handshake came; times are milliseconds after the dial began. */
export interface HandshakeTrace {
  /** Both ends agreed on the security protocol. */
  securityMs?: number
  /** The peer has proved who it is. */
  secureMs?: number
  peerId?: string
  /** The security protocol's own failure, before libp2p wraps it. */
  securityError?: unknown
  muxer?: string
  muxerMs?: number
}

/**
 * Wraps what libp2p runs in a handshake, since its own errors tell little of where it ended. The peer's id is not
 * demanded but noted: who answers instead of the one expected is what an operator wants to know.
 */
export function createHandshakeTracer(clock: Clock) {
  let startMs = clock.now()
  const trace: HandshakeTrace = {}
  const sinceStart = (): number => clock.now() - startMs
  return {
    trace,
    /** The dial begins now. */
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
