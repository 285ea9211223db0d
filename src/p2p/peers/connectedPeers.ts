import type { Connection } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { DIRECTION } from '../base/api.ts'
import type { P2pEvents } from '../base/events.ts'
import type { P2pOptions } from '../base/options.ts'
import type { Host } from '../host/host.ts'
import { type PeerAddress, parsePeerId } from '../host/multiaddrs.ts'
import type { Connections } from './connections.ts'
import { createConnectionTrimmer, type TrimCandidate } from './connectionTrimmer.ts'
import { createKeptAddresses } from './keptAddresses.ts'
import { createLatencyTracker } from './latency.ts'
import { createLivenessMonitor } from './liveness.ts'
import type { PeerRegistry } from './registry.ts'
import { createStaticPeers } from './staticPeers.ts'
import { createUnsolicitedPeers, MAX_UNSOLICITED } from './unsolicitedPeers.ts'

export interface ConnectedPeersModules {
  clock: Clock
  logger: Logger
  events: P2pEvents
  host: Host
  connections: Connections
  peers: PeerRegistry
  gossip: {
    score(peerId: string): number
    /** Mesh peers of the topic that carries blocks now. */
    mesh(): string[]
    /** Called when a peer gains a connection, loses one, or disconnects. */
    streams: { moveTo(connection: Connection): void; repair(peerId: string): void; forget(peerId: string): void }
  }
  /** True: discovery found the peer. */
  isDiscovered(peerId: string): boolean
}

/** Assembles the services that manage connections between start and stop. */
export function createConnectedPeers(
  modules: ConnectedPeersModules,
  staticAddresses: readonly PeerAddress[],
  options: P2pOptions,
) {
  const { clock, logger, events, host, connections, peers, gossip, isDiscovered } = modules
  const { peerStore } = host
  const staticPeers = createStaticPeers(
    {
      clock,
      logger,
      dialer: {
        isConnected: connections.isConnected,
        async dial(addresses, signal, { beside }) {
          await host.dial([...addresses], { signal, force: beside })
        },
        closeOlder: connections.closeOlder,
      },
      onDialFailed: (peer, failure) => events.emit('dialFailed', peer, failure),
    },
    staticAddresses,
  )
  const liveness = createLivenessMonitor(
    {
      clock,
      logger,
      // With few peers every connection matters, so all are watched.
      watched: () =>
        connections.peers().length < options.gossip.meshLow
          ? connections.open()
          : peers.staticIds().flatMap((peer) => connections.open(peer)),
      onSuspect: staticPeers.onSuspect,
      onAlive: staticPeers.onAlive,
    },
    options.liveness,
  )
  const latency = createLatencyTracker({
    clock,
    logger,
    connected: connections.peers,
    isConnected: connections.isConnected,
    ping: (peer, signal) => host.services.ping.ping(parsePeerId(peer), { signal }),
  })
  const keptAddresses = createKeptAddresses({
    clock,
    logger,
    connected: connections.peers,
    async identify(peer) {
      const connection = connections.newest(peer)
      if (connection !== undefined) await host.services.identify.identify(connection)
    },
  })
  const unsolicitedPeers = createUnsolicitedPeers(
    {
      isUnsolicited: (peer) => !peers.isProtected(peer) && !isDiscovered(peer),
      async isDialable(peer) {
        const id = parsePeerId(peer)
        return (await peerStore.has(id)) && (await peerStore.get(id)).addresses.length > 0
      },
      remove: (peer) => peerStore.delete(parsePeerId(peer)),
      onError: (err) => logger.debug('Removing a peer from the peer store failed', { err }),
    },
    { limit: MAX_UNSOLICITED },
  )
  const candidates = (): TrimCandidate[] => {
    const mesh = new Set(gossip.mesh())
    return connections.peers().map((id) => ({
      id,
      connectedSinceMs: connections.sinceMs(id) ?? clock.now(),
      protected: peers.isProtected(id),
      inMesh: mesh.has(id),
      chosen: connections.direction(id) === DIRECTION.outbound || isDiscovered(id),
      score: gossip.score(id),
    }))
  }
  const trimmer = createConnectionTrimmer(
    {
      clock,
      logger,
      close: (peer) => connections.close(peer, 'trimmed: more peers than --p2p.peers.hi'),
      peers: candidates,
    },
    { low: options.peersLow, high: options.peersHigh, graceMs: options.peersGraceMs },
  )
  events.on('full', trimmer.relieve)
  events.on('connected', (peer) => {
    staticPeers.onConnected(peer)
    latency.onConnected(peer)
    unsolicitedPeers.onConnected(peer)
  })
  events.on('anotherConnection', (newest, others) => {
    gossip.streams.moveTo(newest)
    others.forEach(liveness.check)
  })
  events.on('fewerConnections', gossip.streams.repair)
  events.on('disconnected', (peer, end) => {
    latency.forget(peer)
    staticPeers.onDisconnected(peer, end)
    unsolicitedPeers.onDisconnected(peer)
    gossip.streams.forget(peer)
  })

  return {
    staticPeers,
    latency,
    start(): void {
      staticPeers.start()
      liveness.start()
      keptAddresses.start()
      if (options.ping) latency.start()
      trimmer.start()
    },
    /** Stops managing connections and leaves them open. The host closes them when it stops. */
    stop(): void {
      trimmer.stop()
      staticPeers.stop()
      liveness.stop()
      keptAddresses.stop()
      latency.stop()
    },
  }
}
