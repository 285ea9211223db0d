import type { Connection, Stream, StreamMessageEvent } from '@libp2p/interface'

/** libp2p's ping (specs: ping): 32 bytes are sent back as they came, as often as the other side likes. */
export const PING_PROTOCOL = '/ipfs/ping/1.0.0'
export const PING_BYTES = 32
/** The specs' "at most two streams per peer". */
export const MAX_PING_STREAMS = 2
/** libp2p's time-out of a ping, here of a stream of them. */
const STREAM_MS = 10_000
/** In one packet; honest peers wait for the answer. */
const MAX_PINGS_AT_ONCE = 32

export interface PingServerModules {
  setTimeout(callback: () => void, delayMs: number): () => void
  /** Whether the peer may have another ping answered. */
  spend(peerId: string): boolean
  onFlood(peerId: string): void
}

/**
 * Answers pings in place of libp2p's own handler, which keeps all that comes while the peer does not read its answers: a
 * stranger fills the memory at the speed of its link. Here a peer that sends more than it may has its stream reset.
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
          // What is not read is kept, within the budget.
          stream.send(received.slice())
        } catch (error) {
          // We, or the peer, are closing it: thrown out of a listener, this would end the process.
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
