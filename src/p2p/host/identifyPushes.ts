import type { IdentifyPush } from '@libp2p/identify'
import type { Connection, Libp2p, Stream } from '@libp2p/interface'

/** A peer updates its addresses and protocols (libp2p specs: identify, "identify/push"). */
export const PUSH_PROTOCOL = '/ipfs/id/push/1.0.0'

interface PushReader {
  handleProtocol(stream: Stream, connection: Connection): Promise<void>
}

/** The library reads a push only if `spend` allows it. Otherwise the stream is reset. */
export async function limitPushes(
  host: Pick<Libp2p<{ identifyPush: IdentifyPush }>, 'handle' | 'services'>,
  spend: (peerId: string) => boolean,
): Promise<void> {
  const reader = host.services.identifyPush as object as PushReader
  await host.handle(
    PUSH_PROTOCOL,
    async (stream, connection) => {
      if (spend(connection.remotePeer.toString())) await reader.handleProtocol(stream, connection)
      else stream.abort(new Error('too many pushes'))
    },
    { maxInboundStreams: 1, force: true },
  )
}
