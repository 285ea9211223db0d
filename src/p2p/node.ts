import type { Registry } from 'prom-client'
import { type Clock, unixSeconds } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import type { Logger } from '../lib/logger.ts'
import { DIRECTION } from './api.ts'
import { checkP2pOptions } from './checkOptions.ts'
import { P2pError } from './errors.ts'
import { createPublisher } from './gossip/publisher.ts'
import { createRejectionLog } from './gossip/rejectionLog.ts'
import { createGossipRouter } from './gossip/router.ts'
import { createChainTopics } from './gossip/topics.ts'
import { createValidation } from './gossip/validation.ts'
import { createHealthRecord } from './health/healthRecord.ts'
import { createNodeHealth } from './health/nodeHealth.ts'
import { createBandwidth } from './host/bandwidth.ts'
import { createConnections } from './host/connections.ts'
import { createConnectionTrimmer } from './host/connectionTrimmer.ts'
import { classifyDialFailure } from './host/dialFailure.ts'
import { createGater, type GaterMetrics } from './host/gater.ts'
import { createHost, startHost } from './host/host.ts'
import { createInboundLimits, INBOUND_LIMITS } from './host/inboundLimits.ts'
import { createLatencyTracker } from './host/latency.ts'
import { createLivenessMonitor } from './host/liveness.ts'
import { parsePeerId, withPeerId } from './host/multiaddrs.ts'
import { createPingServer, MAX_PING_STREAMS, PING_PROTOCOL } from './host/pingServer.ts'
import { createStaticPeers } from './host/staticPeers.ts'
import { createStrangers, MAX_STRANGERS } from './host/strangers.ts'
import { createP2pMetrics } from './metrics.ts'
import type { FindGateway } from './nat/gateway.ts'
import { openNodeStorage } from './nodeStorage.ts'
import { createOperatorApi } from './operatorApi.ts'
import type { P2pChain, P2pOptions } from './options.ts'
import { createPayloadListeners } from './payloadListeners.ts'
import { createReachability } from './reachability.ts'
import { createAppScores } from './score/appScores.ts'
import { createBanMonitor } from './score/banMonitor.ts'
import { createPeerConduct } from './score/conduct.ts'
import { recordPeerEvents } from './score/peerEvents.ts'
import { createPeerReasons } from './score/peerReasons.ts'
import { createPeerScoreReader } from './score/peerScores.ts'
import { createScoreKeeping } from './score/scoreKeeping.ts'
import { gossipScoring, slotMilliseconds } from './score/scoreParams.ts'
import { createSigner } from './signer/createSigner.ts'
import { createBlockSync } from './sync/blockSync.ts'
import type { P2pNode } from './types.ts'
import { createUpkeep } from './upkeep.ts'

export interface P2pModules {
  logger: Logger
  clock: Clock
  registry: Registry
  chain: P2pChain
  /** How the router is found; by default on the networks of this machine, by UPnP and NAT-PMP. */
  findGateway?: FindGateway
}

/** Builds the node from its parts; nothing listens and nobody is dialled before `start`. Throws UsageError. */
export async function createP2pNode(modules: P2pModules, options: P2pOptions): Promise<P2pNode> {
  const { clock, chain } = modules
  const logger = modules.logger.child({ module: 'p2p' })
  const { config } = chain
  const parsedStatics = checkP2pOptions(options)
  const signer = await createSigner({ logger }, config.l2ChainId, options)
  const metrics = createP2pMetrics(modules.registry)
  const topics = createChainTopics(config, clock)
  const scoring = gossipScoring(options, {
    blockTimeS: config.blockTime,
    appScore: (peer) => appScores.score(peer),
    topics: topics.byVersion,
    version: topics.carrier().version,
  })
  const storage = await openNodeStorage({ clock, logger, score: (peer) => router.score(peer) }, options, {
    retainScoresMs: scoring.params.retainScore,
  })
  const { identity, access, histories } = storage
  const closeOnFailure = async (error: unknown): Promise<never> => {
    await storage.close()
    throw error
  }
  const peerId = identity.peerId.toString()
  const staticAddresses = parsedStatics.filter((peer) => {
    if (peer.peerId.toString() !== peerId) return true
    logger.info('Static peer list contains this node itself, ignoring it')
    return false
  })
  const events = recordPeerEvents(histories)
  const appScores = createAppScores(events.onResponse)
  const record = createHealthRecord(
    clock,
    staticAddresses.map((peer) => peer.peerId.toString()),
  )
  const listeners = createPayloadListeners(logger)
  const validation = createValidation(
    { config, clock, logger, topics, signer: () => chain.signerAddress() },
    { maxAgeS: options.gossip.maxAgeS },
  )
  const conduct = createPeerConduct({
    clock,
    penalise(peer, points, offence, detail) {
      if (points > 0) router.penalise(peer, points)
      events.onOffence(peer, offence, detail)
      logger.debug('Peer misbehaved', { peer, offence, detail, points })
      banMonitor.suspect(peer)
    },
  })
  const logRejection = createRejectionLog({ logger, clock })
  const router = createGossipRouter(
    {
      logger,
      ids: validation.ids,
      scoring,
      validate: validation.validate,
      onVerdict(from, version, verdict) {
        if (verdict.result === 'reject') banMonitor.suspect(from)
        logRejection(from, version, verdict)
        record.onVerdict(from, verdict)
        events.onVerdict(from, version, verdict)
      },
      onRejectedAgain: events.onVerdict,
      onMesh: events.onMesh,
      onPenalty(peer, label) {
        banMonitor.suspect(peer)
        events.onPenalty(peer, label)
      },
      onLeave: (peer) => keeping.onLeave(peer),
      onBlock(envelope, from) {
        metrics.onUnsafePayload(unixSeconds(clock))
        sync.onTrustedBlock(envelope)
        const { blockNumber, blockHash } = envelope.payload
        logger.debug('Received signed execution payload from p2p', { number: blockNumber, hash: blockHash, peer: from })
        listeners.deliver(envelope, from)
      },
      onEvent: metrics.onGossipEvent,
      isAlwaysServed: (peer) => statics.has(peer),
      guard: {
        conduct,
        setTimeout: clock.setTimeout.bind(clock),
        onAuthor: (peer, topic) => events.onAuthor(peer, topics.versionOf(topic)),
        onSlowReader(peer) {
          conduct.report(peer, 'slow-reader')
          connections.abort(peer, 'reads too slowly')
        },
        onUnexpected: (err) => logger.debug('Handling an RPC failed', { err }),
      },
      connectionsOf: (peer) => host.getConnections(peer),
    },
    topics,
    options.gossip,
  )
  const gaterMetrics: GaterMetrics = {
    ...metrics.gater,
    onPeerUnban(peer, cause) {
      metrics.gater.onPeerUnban(peer, cause)
      events.onUnban(peer, cause)
    },
  }
  const bandwidth = createBandwidth()
  const host = await createHost(
    {
      identity,
      gater: createGater({
        lists: access.lists,
        clock,
        metrics: gaterMetrics,
        onConnection: bandwidth.add,
        admits: (peer) => trimmer.admits(peer),
        limits: createInboundLimits({ clock }, { ...INBOUND_LIMITS, exempt: options.ipColocationExempt }),
      }),
      datastore: storage.datastore,
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
  ).catch(closeOnFailure)
  const connections = createConnections(host, {
    onOpen: () => metrics.onConnectionOpen(),
    onClose: () => metrics.onConnectionClose(),
    onAnother(newest, others) {
      router.streams.moveTo(newest)
      others.forEach(liveness.check)
    },
    onFewer: (peer) => router.streams.repair(peer),
    onPeer(peer, address, direction) {
      events.onConnected(peer, address, direction)
      // It may come back with the score that it left with.
      banMonitor.suspect(peer)
      record.onConnected(peer)
      logger.debug('Connected to peer', { peer, addr: address })
      metrics.onGossipEvent('ADD_PEER')
      statics.onConnected(peer)
      strangers.onConnected(peer)
      sync.onPeer()
    },
    onPeerGone(peer, end) {
      events.onDisconnected(peer, end)
      record.onDisconnected(peer, end)
      logger.debug('Disconnected from peer', { peer })
      metrics.onGossipEvent('REMOVE_PEER')
      latency.forget(peer)
      statics.onDisconnected(peer, end)
      strangers.onGone(peer)
    },
  })
  const statics = createStaticPeers(
    {
      clock,
      logger,
      dialer: {
        isConnected: connections.isConnected,
        async dial(peers, signal, { beside }) {
          const addresses = peers.map((peer) => peer.address)
          try {
            await host.dial(addresses, { signal, force: beside })
          } catch (error) {
            for (const { peerId } of peers.slice(0, 1))
              record.onDialFailed(peerId.toString(), classifyDialFailure(error))
            throw error
          }
        },
        closeOlder: connections.closeOlder,
      },
    },
    staticAddresses,
  )
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
  const isProtected = (peer: string): boolean => statics.has(peer) || access.lists.protectedPeers.has(peer)
  const strangers = createStrangers(
    {
      isStranger: (peer) => !isProtected(peer) && discovery?.hasFound(peer) !== true,
      forget: (peer) => host.peerStore.delete(parsePeerId(peer)),
      onError: (err) => logger.debug('Forgetting a peer failed', { err }),
    },
    { most: MAX_STRANGERS },
  )
  const scores = createPeerScoreReader({ router, appScores }, scoring.params)
  const keeping = createScoreKeeping(
    { book: storage.scoreBook, router, appScores, scores, connected: connections.peers, clock },
    scoring.params,
  )
  keeping.restore()
  const sync = createBlockSync(
    {
      host,
      chain,
      clock,
      logger,
      metrics,
      appScores,
      connected: connections.peers,
      connection: connections.newest,
      isStatic: statics.has,
      thread: validation.thread,
      onBlock(envelope, from) {
        record.onRequested(envelope)
        listeners.deliver(envelope, from)
      },
    },
    options.sync,
  )
  const banMonitor = createBanMonitor(
    {
      clock,
      logger,
      connected: connections.peers,
      score: router.score,
      isStatic: statics.has,
      mainReason: (peer) => reasons.mainReason(peer),
      async ban(peer, ban) {
        access.lists.banPeer(peer, ban)
        events.onBan(peer, ban)
        connections.abort(peer, 'banned')
        // At once, whatever becomes of this process: the ban and all that it is to be explained with.
        await Promise.all([access.save(), keeping.save(), histories.flush()])
      },
    },
    options.ban,
  )
  const trimmer = createConnectionTrimmer(
    {
      clock,
      logger,
      close: (peer) => connections.close(peer, 'trimmed: more peers than --p2p.peers.hi'),
      count: () => connections.peers().length,
      isConnected: connections.isConnected,
      isProtected,
      peers: () => {
        const mesh = new Set(router.meshPeers(topics.carrier().version))
        return connections.peers().map((id) => ({
          id,
          connectedSinceMs: connections.sinceMs(id) ?? clock.now(),
          protected: isProtected(id),
          inMesh: mesh.has(id),
          chosen: connections.direction(id) === DIRECTION.outbound || discovery?.hasFound(id) === true,
          score: router.score(id),
        }))
      },
    },
    { low: options.peersLow, high: options.peersHigh, graceMs: options.peersGraceMs },
  )
  const publisher = createPublisher({
    config,
    router,
    clock,
    metrics,
    logger,
    signer,
    expectedSigner: () => chain.signerAddress(),
  })
  const reachability = await createReachability(
    {
      host,
      clock,
      logger,
      privateKey: identity.privateKey.raw,
      config,
      connected: connections.peers,
      isRefused: (peer) =>
        access.lists.blockedPeers.has(peer) || (access.lists.peerBan(peer)?.expiryMs ?? 0) > clock.now(),
      metrics,
      findGateway: modules.findGateway,
    },
    options,
  ).catch(closeOnFailure)
  const { discovery } = reachability
  const operator = createOperatorApi(
    {
      host,
      router,
      access,
      connections,
      statics,
      latency,
      clock,
      scores: keeping,
      isProtected,
      discovery,
      onBlock: events.onBlock,
      metrics: gaterMetrics,
      logger,
    },
    { dialTimeoutMs: options.dialTimeoutMs },
  )

  const reasons = createPeerReasons(
    {
      clock,
      router,
      versionOf: topics.versionOf,
      appScores,
      scoring,
      histories,
      lists: access.lists,
      connected: connections.peers,
      isStatic: statics.has,
      isProtected,
    },
    {
      scored: options.scoring !== 'none',
      banThreshold: options.ban.enabled && options.scoring !== 'none' ? options.ban.threshold : undefined,
    },
  )

  let state: 'new' | 'started' | 'stopped' = 'new'
  const upkeep = createUpkeep(
    {
      clock,
      logger,
      connected: connections.peers,
      carrier: () => topics.carrier().version,
      access,
      appScores,
      router,
      scores,
      keeping,
      histories,
      metrics,
      unbans: gaterMetrics,
    },
    { slotMs: slotMilliseconds(config.blockTime) },
  )
  const health = createNodeHealth(
    {
      clock,
      logger,
      record,
      router,
      carrier: topics.carrier,
      connected: connections.peers,
      protocolsOf: async (peer) =>
        (await host.peerStore.get(parsePeerId(peer)).catch(() => undefined))?.protocols ?? [],
      metrics,
    },
    { blockTimeS: config.blockTime, limits: options.health },
  )
  const meshSize = (): number => router.meshPeers(topics.carrier().version).length
  metrics.watch({
    streams: () => host.getConnections().reduce((sum, connection) => sum + connection.streams.length, 0),
    meshPeers: meshSize,
    bandwidth: bandwidth.total,
  })
  const multiaddrs = (): string[] => host.getMultiaddrs().map((address) => withPeerId(address, host.peerId))

  const stop = async (): Promise<void> => {
    if (state === 'stopped') return
    state = 'stopped'
    // While the peers are still in the meshes.
    await keeping.close()
    router.leave()
    banMonitor.stop()
    trimmer.stop()
    statics.stop()
    await reachability.stop()
    liveness.stop()
    latency.stop()
    health.stop()
    upkeep.stop()
    connections.stop()
    await sync.stop()
    await host.stop()
    await validation.close()
    await access.save().catch((err: unknown) => logger.error('Saving block lists failed', { err }))
    await histories.flush()
    await storage.close()
    await signer?.stop()
    logger.debug('Stopped p2p host')
  }

  return {
    ...operator,
    ...reasons,
    peerId,
    async start() {
      if (state !== 'new') throw new P2pError('not-running', `the p2p node was ${state} before`)
      state = 'started'
      try {
        connections.start()
        await startHost(host, options)
        const pings = createPingServer({
          setTimeout: clock.setTimeout.bind(clock),
          spend: (peer) => conduct.spend(peer, 'pings'),
          onFlood: (peer) => conduct.report(peer, 'ping-flood'),
        })
        await host.handle(PING_PROTOCOL, pings, { maxInboundStreams: MAX_PING_STREAMS, force: true })
        await sync.start()
        router.join()
        await discovery?.start()
      } catch (error) {
        await stop()
        throw error
      }
      statics.start()
      liveness.start()
      if (options.ping) latency.start()
      if (options.ban.enabled && options.scoring !== 'none') banMonitor.start()
      trimmer.start()
      health.start()
      reachability.mapPorts()
      upkeep.start()
      logger.info('Started p2p host', { peerId, addrs: multiaddrs().join(','), staticPeers: statics.ids().length })
      if (discovery === undefined) logger.info('Peer discovery is disabled')
      if (signer !== undefined) logger.info('Signing published blocks', { signer: signer.address })
    },
    stop,
    async publish(envelope) {
      if (state !== 'started') throw new P2pError('not-running', 'the p2p node is not running')
      sync.onTrustedBlock(envelope)
      await publisher.publish(envelope)
    },
    onPayload: listeners.add,
    requestRange: sync.requestRange,
    health: health.report,
    headMoved: record.onHead,
    meshSize,
    connectedPeers: connections.peers,
    multiaddrs,
  }
}
