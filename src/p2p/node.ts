import type { Registry } from 'prom-client'
import { type Clock, unixSeconds } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import { checkP2pOptions } from './checkOptions.ts'
import { createConnectedHost } from './connectedHost.ts'
import { P2pError } from './errors.ts'
import { createPublisher } from './gossip/publisher.ts'
import { createRejectionLog } from './gossip/rejectionLog.ts'
import { createGossipRouter } from './gossip/router.ts'
import { createChainTopics, type PayloadVersion } from './gossip/topics.ts'
import { createValidation } from './gossip/validation.ts'
import { createHealthRecord } from './health/healthRecord.ts'
import { createNodeHealth } from './health/nodeHealth.ts'
import type { GaterMetrics } from './host/gater.ts'
import { type PeerAddress, parsePeerId, withPeerId } from './host/multiaddrs.ts'
import { dropUnreadablePeers } from './host/peerStore.ts'
import { createLifecycle } from './lifecycle.ts'
import { createP2pMetrics } from './metrics.ts'
import type { FindGateway } from './nat/gateway.ts'
import { openNodeStorage } from './nodeStorage.ts'
import { createOperatorApi } from './operatorApi.ts'
import type { P2pChain, P2pOptions } from './options.ts'
import { createPayloadListeners } from './payloadListeners.ts'
import { createReachability } from './reachability.ts'
import { createAppScores } from './score/appScores.ts'
import { createPeerConduct } from './score/conduct.ts'
import { recordPeerEvents } from './score/peerEvents.ts'
import { gossipScoring, slotMilliseconds } from './score/scoreParams.ts'
import { createSigner } from './signer/createSigner.ts'
import { createStanding } from './standing.ts'
import { createBlockSync } from './sync/blockSync.ts'
import type { P2pNode, PayloadListener } from './types.ts'
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
  const parsedStatics = checkP2pOptions(options)
  const opened = new AsyncDisposableStack()
  try {
    return await assembleNode(modules, options, { parsedStatics, opened })
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** `opened`: what is to be closed again when the node cannot be built. */
async function assembleNode(
  modules: P2pModules,
  options: P2pOptions,
  { parsedStatics, opened }: { parsedStatics: readonly PeerAddress[]; opened: AsyncDisposableStack },
): Promise<P2pNode> {
  const { clock, chain } = modules
  const logger = modules.logger.child({ module: 'p2p' })
  const { config } = chain
  const signer = await createSigner({ logger }, config.l2ChainId, options)
  opened.defer(async () => signer?.stop())
  const metrics = createP2pMetrics(modules.registry)
  const topics = createChainTopics(config, clock)
  const carrier = (): PayloadVersion => topics.carrier().version
  const scoring = gossipScoring(options, {
    blockTimeS: config.blockTime,
    appScore: (peer) => appScores.score(peer),
    topics: topics.byVersion,
    version: carrier(),
  })
  const storage = await openNodeStorage({ clock, logger, score: (peer) => router.score(peer) }, options, {
    retainScoresMs: scoring.params.retainScore,
  })
  opened.defer(storage.close)
  const { identity, access, histories } = storage
  const peerId = identity.peerId.toString()
  const staticPeers = parsedStatics.filter((peer) => {
    if (peer.peerId.toString() !== peerId) return true
    logger.info('Static peer list contains this node itself, ignoring it')
    return false
  })
  const events = recordPeerEvents(histories)
  const appScores = createAppScores(events.onResponse)
  const record = createHealthRecord(
    clock,
    staticPeers.map((peer) => peer.peerId.toString()),
  )
  const listeners = createPayloadListeners(logger)
  const deliver: PayloadListener = (envelope, from) => {
    metrics.onUnsafePayload(unixSeconds(clock))
    listeners.deliver(envelope, from)
  }
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
      bans.suspect(peer)
    },
  })
  const logRejection = createRejectionLog({ logger, clock })
  const router = createGossipRouter(
    {
      clock,
      logger,
      ids: validation.ids,
      scoring,
      validate: validation.validate,
      onVerdict(from, version, verdict) {
        if (verdict.result === 'reject') bans.suspect(from)
        logRejection(from, version, verdict)
        record.onVerdict(from, verdict)
        events.onVerdict(from, version, verdict)
      },
      onRejectedAgain: events.onVerdict,
      onMesh: events.onMesh,
      onPenalty(peer, label) {
        bans.suspect(peer)
        events.onPenalty(peer, label)
      },
      onLeave: (peer) => keeping.onLeave(peer),
      onBlock(envelope, from) {
        deliver(envelope, from)
        sync.onTrustedBlock(envelope)
        const { blockNumber, blockHash } = envelope.payload
        logger.debug('Received signed execution payload from p2p', { number: blockNumber, hash: blockHash, peer: from })
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
  const connected = await createConnectedHost(
    {
      clock,
      logger,
      identity,
      datastore: storage.datastore,
      lists: access.lists,
      conduct,
      router,
      carrier,
      hasFound: (peer) => discovery?.hasFound(peer) === true,
      onStaticDialFailed: record.onDialFailed,
      onPeer(peer, address, direction) {
        events.onConnected(peer, address, direction)
        // It may come back with the score that it left with.
        bans.suspect(peer)
        record.onConnected(peer)
        logger.debug('Connected to peer', { peer, addr: address })
        metrics.onGossipEvent('ADD_PEER')
        sync.onPeer()
      },
      onPeerGone(peer, end) {
        events.onDisconnected(peer, end)
        record.onDisconnected(peer, end)
        logger.debug('Disconnected from peer', { peer })
        metrics.onGossipEvent('REMOVE_PEER')
      },
      metrics,
      gaterMetrics,
    },
    staticPeers,
    options,
  )
  const { host, connections, statics, latency, isProtected } = connected
  if (storage.datastore !== undefined) {
    await dropUnreadablePeers({ logger, listPeers: () => host.peerStore.all() }, storage.datastore)
  }
  const { scores, keeping, bans, reasons } = createStanding(
    {
      clock,
      logger,
      storage,
      router,
      appScores,
      scoring,
      connections,
      versionOf: topics.versionOf,
      isStatic: statics.has,
      isProtected,
      onBan: events.onBan,
    },
    options,
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
      onOversizedRequest: (peer) => conduct.report(peer, 'oversized-request'),
      inspector: validation.inspector,
      onBlock(envelope, from) {
        record.onRequested(envelope)
        deliver(envelope, from)
      },
    },
    options.sync,
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
      gater: connected.gater,
      clock,
      logger,
      privateKey: identity.privateKey.raw,
      config,
      connected: connections.peers,
      isRefused: (peer) =>
        access.lists.blockedPeers.has(peer) || (access.lists.peerBan(peer)?.expiryMs ?? 0) > clock.now(),
      isProtected,
      metrics,
      findGateway: modules.findGateway,
    },
    options,
  )
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
  const upkeep = createUpkeep(
    {
      clock,
      connected: connections.peers,
      carrier,
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
  const meshSize = (): number => router.meshPeers(carrier()).length
  metrics.watch({
    streams: () => host.getConnections().reduce((sum, connection) => sum + connection.streams.length, 0),
    meshPeers: meshSize,
    bandwidth: connected.bandwidth.total,
  })
  const multiaddrs = (): string[] => host.getMultiaddrs().map((address) => withPeerId(address, host.peerId))

  const lifecycle = createLifecycle({
    async start() {
      if (options.inspectionAtStart) validation.inspector.start()
      await connected.listen()
      await sync.start()
      router.join()
      await discovery?.start()
      connected.start()
      if (options.ban.enabled && options.scoring !== 'none') bans.start()
      health.start()
      await reachability.start()
      upkeep.start()
      logger.info('Started p2p host', { peerId, addrs: multiaddrs().join(','), staticPeers: statics.ids().length })
      if (discovery === undefined) logger.info('Peer discovery is disabled')
      if (signer !== undefined) logger.info('Signing published blocks', { signer: signer.address })
    },
    async stop() {
      // While the peers are still in the meshes.
      await keeping.close()
      router.leave()
      bans.stop()
      health.stop()
      upkeep.stop()
      connected.stop()
      for (const close of [reachability.stop, sync.stop, () => host.stop(), validation.close, access.save]) {
        try {
          await close()
        } catch (err) {
          logger.error('A part of the p2p node did not stop in order', { err })
        }
      }
      await histories.flush()
      await opened.disposeAsync()
      logger.debug('Stopped p2p host')
    },
  })

  return {
    ...operator,
    ...reasons,
    peerId,
    start: lifecycle.start,
    stop: lifecycle.stop,
    async publish(envelope) {
      if (!lifecycle.isRunning()) throw new P2pError('not-running', 'the p2p node is not running')
      try {
        await publisher.publish(envelope)
      } finally {
        // Ours, even if nobody has heard of it: peers may ask for it by number.
        sync.onTrustedBlock(envelope)
      }
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
