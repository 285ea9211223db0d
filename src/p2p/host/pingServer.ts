import type { Connection, Stream, StreamMessageEvent } from '@libp2p/interface'

/** libp2p's ping (specs: ping): 32 bytes are sent back unchanged, as often as the remote side sends them. */
export const PING_PROTOCOL = '/ipfs/ping/1.0.0'
export const PING_BYTES = 32
/** The specs' "at most two streams per peer". */
export const MAX_PING_STREAMS = 2
/** libp2p's time-out for a ping; here the limit of a whole stream. */
const STREAM_MS = 10_000
/** Pings in one packet. An honest peer waits for the answer. */
const MAX_PINGS_AT_ONCE = 32

export interface PingServerModules {
  setTimeout(callback: () => void, delayMs: number): () => void
  /** True: the peer's budget allows another answer. */
  spend(peerId: string): boolean
  onFlood(peerId: string): void
}

/**
 * Replaces libp2p's own handler, which buffers everything while the peer does not read its answers. An unauthenticated
 * peer could fill the memory at the speed of its link. This server resets the stream of a peer that exceeds its budget.
 */
export function createPingServer(modules: PingServerModules): (stream: Stream, connection: Connection) => void {
  return (stream, connection) => {
    const peerId = connection.remotePeer.toString()
    const received = new Uint8Array(PING_BYTES)
    let filled = 0
    const cancel = modules.setTimeout(() => stream.abort(new Error('ping timed out')), STREAM_MS)
    const refuse = (reason: string): void => {
      modules.onFlood(peerId)
      stream.abort(new Error(reason))
    }
    const onMessage = ({ data }: StreamMessageEvent): void => {
      if (data.byteLength > PING_BYTES * MAX_PINGS_AT_ONCE) {
        refuse('too many pings at once')
        return
      }
      for (const byte of data.subarray()) {
        received[filled] = byte
        filled += 1
        if (filled < PING_BYTES) continue
        filled = 0
        if (!modules.spend(peerId)) {
          refuse('too many pings')
          return
        }
        try {
          // Unread answers are buffered, within the budget.
          stream.send(received.slice())
        } catch (error) {
          // One side is closing the stream. An error thrown from this listener would end the process.
          stream.abort(error instanceof Error ? error : new Error('ping cannot be answered'))
          return
        }
      }
    }
    stream.addEventListener('message', onMessage)
    stream.addEventListener('end', () => void stream.close().catch((error: Error) => stream.abort(error)), {
      once: true,
    })
    stream.addEventListener('close', cancel, { once: true })
  }
}
