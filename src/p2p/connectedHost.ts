import type { ConnectionGater } from '@libp2p/interface'
import type { Datastore } from 'interface-datastore'
import type { Clock } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import type { Logger } from '../lib/logger.ts'
import { DIRECTION } from './api.ts'
import type { GossipRouter } from './gossip/router.ts'
import type { PayloadVersion } from './gossip/topics.ts'
import type { AccessLists } from './host/accessLists.ts'
import { type Bandwidth, createBandwidth } from './host/bandwidth.ts'
import { type ConnectionListener, type Connections, createConnections } from './host/connections.ts'
import { createConnectionTrimmer, type TrimCandidate } from './host/connectionTrimmer.ts'
import type { DialFailure } from './host/dialFailure.ts'
import { createGater, type GaterMetrics } from './host/gater.ts'
import { createHost, type Host, startHost } from './host/host.ts'
import { limitPushes } from './host/identifyPushes.ts'
import type { Identity } from './host/identity.ts'
import { createInboundLimits, INBOUND_LIMITS } from './host/inboundLimits.ts'
import { createKeptAddresses } from './host/keptAddresses.ts'
import { createLatencyTracker, type LatencyTracker } from './host/latency.ts'
import { createLivenessMonitor } from './host/liveness.ts'
import { type PeerAddress, parsePeerId } from './host/multiaddrs.ts'
import { createPingServer, MAX_PING_STREAMS, PING_PROTOCOL } from './host/pingServer.ts'
import { createStaticPeers, type StaticPeers } from './host/staticPeers.ts'
import { createStrangers, MAX_STRANGERS } from './host/strangers.ts'
import { keepUnwritten } from './host/unwritten.ts'
import type { P2pOptions } from './options.ts'
import type { PeerConduct } from './score/conduct.ts'

/** The libp2p host with all that decides who is connected to it. */
export interface ConnectedHost {
  readonly host: Host
  readonly gater: ConnectionGater
  readonly connections: Connections
  readonly statics: StaticPeers
  readonly latency: LatencyTracker
  readonly bandwidth: Bandwidth
  /** Static, or protected by the operator. */
  isProtected(peerId: string): boolean
  /** Listens for peers. Throws UsageError when the port is taken. */
  listen(): Promise<void>
  /** Dials the static peers, and looks after all connections from now on. */
  start(): void
  /** Leaves the connections to themselves; the host is stopped on its own. */
  stop(): void
}

export interface ConnectedHostModules {
  clock: Clock
  logger: Logger
  identity: Identity
  datastore: Datastore | undefined
  lists: AccessLists
  conduct: Pick<PeerConduct, 'spend' | 'report'>
  router: Pick<GossipRouter, 'service' | 'streams' | 'score' | 'meshPeers'>
  /** Of the topic that carries blocks now. */
  carrier(): PayloadVersion
  /** By discovery. */
  hasFound(peerId: string): boolean
  onStaticDialFailed(peerId: string, failure: DialFailure): void
  onPeer: ConnectionListener['onPeer']
  onPeerGone: ConnectionListener['onPeerGone']
  metrics: { onConnectionOpen(): void; onConnectionClose(): void }
  gaterMetrics: GaterMetrics
}

/** Throws UsageError on options that contradict each other. */
export async function createConnectedHost(
  modules: ConnectedHostModules,
  staticPeers: readonly PeerAddress[],
  options: P2pOptions,
): Promise<ConnectedHost> {
  const { clock, logger, lists, conduct, router, hasFound } = modules
  const bandwidth = createBandwidth()
  if (modules.datastore !== undefined) keepUnwritten(modules.datastore)
  const gater = createGater({
    lists,
    clock,
    metrics: modules.gaterMetrics,
    onConnection: bandwidth.add,
    admits: (peer) => trimmer.admits(peer),
    limits: createInboundLimits({ clock }, { ...INBOUND_LIMITS, exempt: options.ipColocationExempt }),
  })
  const host = await createHost(
    {
      identity: modules.identity,
      gater,
      datastore: modules.datastore,
      pubsub: router.service,
      muxerGuard: {
        clock,
        onAbuse(muxer, error) {
          const peer = connections.peerOf(muxer)
          if (peer !== undefined) conduct.report(peer, 'muxer-abuse', describeError(error))
        },
      },
    },
    options,
  )
  const connections = createConnections(host, {
    onOpen: modules.metrics.onConnectionOpen,
    onClose: modules.metrics.onConnectionClose,
    onAnother(newest, others) {
      router.streams.moveTo(newest)
      others.forEach(liveness.check)
    },
    onFewer: router.streams.repair,
    onPeer(peer, address, direction) {
      modules.onPeer(peer, address, direction)
      statics.onConnected(peer)
      strangers.onConnected(peer)
    },
    onPeerGone(peer, end) {
      modules.onPeerGone(peer, end)
      latency.forget(peer)
      statics.onDisconnected(peer, end)
      strangers.onGone(peer)
      router.streams.forget(peer)
    },
  })
  const statics = createStaticPeers(
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
      onDialFailed: modules.onStaticDialFailed,
    },
    staticPeers,
  )
  const isProtected = (peer: string): boolean => statics.has(peer) || lists.protectedPeers.has(peer)
  const liveness = createLivenessMonitor(
    {
      clock,
      logger,
      // Where there are few, each link matters, whoever has made it.
      watched: () =>
        connections.peers().length < options.gossip.meshLow
          ? connections.open()
          : statics.ids().flatMap((peer) => connections.open(peer)),
      onSuspect: statics.onSuspect,
      onAlive: statics.onAlive,
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
    peerStore: host.peerStore,
  })
  const strangers = createStrangers(
    {
      isStranger: (peer) => !isProtected(peer) && !hasFound(peer),
      async isDialable(peer) {
        const id = parsePeerId(peer)
        return (await host.peerStore.has(id)) && (await host.peerStore.get(id)).addresses.length > 0
      },
      forget: (peer) => host.peerStore.delete(parsePeerId(peer)),
      onError: (err) => logger.debug('Forgetting a peer failed', { err }),
    },
    { most: MAX_STRANGERS },
  )
  const candidates = (): TrimCandidate[] => {
    const mesh = new Set(router.meshPeers(modules.carrier()))
    return connections.peers().map((id) => ({
      id,
      connectedSinceMs: connections.sinceMs(id) ?? clock.now(),
      protected: isProtected(id),
      inMesh: mesh.has(id),
      chosen: connections.direction(id) === DIRECTION.outbound || hasFound(id),
      score: router.score(id),
    }))
  }
  const trimmer = createConnectionTrimmer(
    {
      clock,
      logger,
      close: (peer) => connections.close(peer, 'trimmed: more peers than --p2p.peers.hi'),
      count: () => connections.peers().length,
      isConnected: connections.isConnected,
      isProtected,
      peers: candidates,
    },
    { low: options.peersLow, high: options.peersHigh, graceMs: options.peersGraceMs },
  )

  return {
    host,
    gater,
    connections,
    statics,
    latency,
    bandwidth,
    isProtected,
    async listen() {
      connections.start()
      await startHost(host, options)
      const pings = createPingServer({
        setTimeout: clock.setTimeout.bind(clock),
        spend: (peer) => conduct.spend(peer, 'pings'),
        onFlood: (peer) => conduct.report(peer, 'ping-flood'),
      })
      await host.handle(PING_PROTOCOL, pings, { maxInboundStreams: MAX_PING_STREAMS, force: true })
      await limitPushes(host, (peer) => conduct.spend(peer, 'pushes'))
    },
    start() {
      statics.start()
      liveness.start()
      keptAddresses.start()
      if (options.ping) latency.start()
      trimmer.start()
    },
    stop() {
      trimmer.stop()
      statics.stop()
      liveness.stop()
      keptAddresses.stop()
      latency.stop()
      connections.stop()
    },
  }
}
