import type { GossipSubComponents } from '@chainsafe/libp2p-gossipsub'
import type { PeerId, Stream, Topology } from '@libp2p/interface'

type Registrar = GossipSubComponents['registrar']

/** Receives the streams that peers open, in place of the library. */
export interface EntranceHandlers {
  onStream(peerId: PeerId, stream: Stream): void
  onRemoved(peerId: string): void
}

export type Entrance = ReturnType<typeof createEntrance>

/**
 * A registrar between libp2p and the library. It takes the streams that peers open, so that the library never reads
 * one. The library still receives connections and disconnections.
 */
export function createEntrance() {
  let handlers: EntranceHandlers | undefined
  let library: Topology | undefined
  /** Makes the library remove a peer and its subscriptions. */
  const forget = (peerId: PeerId): void => {
    library?.onDisconnect?.(peerId)
    handlers?.onRemoved(peerId.toString())
  }
  return {
    /** The registrar to hand to the library. */
    around: (registrar: Registrar): Registrar => ({
      handle: (protocol, _, options) =>
        registrar.handle(
          protocol,
          (stream, connection) => {
            // The library must know the peer and open its own stream to it.
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
    listen(given: EntranceHandlers): void {
      handlers = given
    },
    forget,
  }
}
