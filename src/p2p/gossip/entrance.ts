import type { GossipSubComponents } from '@chainsafe/libp2p-gossipsub'
import type { PeerId, Stream, Topology } from '@libp2p/interface'

type Registrar = GossipSubComponents['registrar']

/** What takes the streams that peers open, in place of the library. */
export interface EntranceHandlers {
  onStream(peerId: PeerId, stream: Stream): void
  /** The library has forgotten the peer. */
  onGone(peerId: string): void
}

/**
 * Stands between libp2p and the library: it takes the streams that peers open, so that the library never reads one. The library
 * hears of connections, and of peers that leave, as ever.
 */
export interface Entrance {
  /** What the library is given as libp2p's registrar. */
  around(registrar: Registrar): Registrar
  listen(handlers: EntranceHandlers): void
  /** Has the library forget a peer, with its subscriptions. */
  forget(peerId: PeerId): void
}

export function createEntrance(): Entrance {
  let handlers: EntranceHandlers | undefined
  let library: Topology | undefined
  const forget = (peerId: PeerId): void => {
    library?.onDisconnect?.(peerId)
    handlers?.onGone(peerId.toString())
  }
  return {
    around: (registrar) => ({
      handle: (protocol, _, options) =>
        registrar.handle(
          protocol,
          (stream, connection) => {
            // The library is to know the peer, and opens a stream of its own.
            library?.onConnect?.(connection.remotePeer, connection)
            handlers?.onStream(connection.remotePeer, stream)
          },
          options,
        ),
      register(protocol, topology, options) {
        library = topology
        return registrar.register(protocol, { ...topology, onDisconnect: forget }, options)
      },
      unhandle: (protocol, options) => registrar.unhandle(protocol, options),
      unregister: (id) => registrar.unregister(id),
      getProtocols: () => registrar.getProtocols(),
      getHandler: (protocol) => registrar.getHandler(protocol),
      getTopologies: (protocol) => registrar.getTopologies(protocol),
      use: (protocol, middleware) => registrar.use(protocol, middleware),
      unuse: (protocol) => registrar.unuse(protocol),
      getMiddleware: (protocol) => registrar.getMiddleware(protocol),
    }),
    listen(given) {
      handlers = given
    },
    forget,
  }
}
