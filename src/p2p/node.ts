import type { PeerId } from '@libp2p/interface'
import { P2pError } from './base/errors.ts'
import { createP2pEvents } from './base/events.ts'
import type { P2pOptions } from './base/options.ts'
import { createChainTopics } from './base/topics.ts'
import { checkP2pOptions, withoutSelf } from './checkOptions.ts'
import { logEvents } from './eventLog.ts'
import { createGatedHost } from './gatedHost.ts'
import { createPublisher } from './gossip/publisher.ts'
import { logRejections } from './gossip/rejectionLog.ts'
import { createGossipRouter, gossipService } from './gossip/router.ts'
import { gossipScoring, slotMilliseconds } from './gossip/scoreParams.ts'
import { createValidation } from './gossip/validation.ts'
import { createNodeHealth } from './health/nodeHealth.ts'
import { startHost } from './host/host.ts'
import { parsePeerId, withPeerId } from './host/multiaddrs.ts'
import { checkPatches } from './host/patches.ts'
import { createLifecycle } from './lifecycle.ts'
import { createP2pMetrics } from './metrics.ts'
import { openNodeStorage } from './nodeStorage.ts'
import { forwardNotifications } from './notifications.ts'
import { createOperatorApi } from './operatorApi.ts'
import { createConnectedPeers } from './peers/connectedPeers.ts'
import { createPeerQuotas } from './quotas/quotas.ts'
import { createReachability } from './reachability.ts'
import { createAppScores } from './reputation/appScores.ts'
import { openReputation } from './reputation.ts'
import { createSigner } from './signer/createSigner.ts'
import { createBlockSync } from './sync/blockSync.ts'
import { blockProtocols } from './sync/payloadByNumber.ts'
import type { P2pModules, P2pNode } from './types.ts'
import { createUpkeep } from './upkeep.ts'

/** Assembles the node. Nothing listens and no peer is dialled before `start`. Throws UsageError. */
export async function createP2pNode(modules: P2pModules, options: P2pOptions): Promise<P2pNode> {
  const checked = checkP2pOptions(options)
  await checkPatches()
  const opened = new AsyncDisposableStack()
  try {
    return await assembleNode(modules, checked, options, opened)
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** `opened`: resources to close when the assembly fails. */
async function assembleNode(
  { clock, chain, findNatRouter, ...modules }: P2pModules,
  { staticPeers: allStaticPeers, names }: ReturnType<typeof checkP2pOptions>,
  options: P2pOptions,
  opened: AsyncDisposableStack,
): Promise<P2pNode> {
  const { config } = chain
  const logger = modules.logger.child({ module: 'p2p' })
  const signer = await createSigner({ logger }, config.l2ChainId, options)
  opened.defer(async () => signer?.stop())
  const storage = await openNodeStorage({ clock, logger }, options)
  opened.defer(storage.close)
  const { identity, access } = storage
  const peerId = identity.peerId.toString()
  const staticPeers = withoutSelf(allStaticPeers, peerId, logger)
  const events = createP2pEvents({ logger })
  const metrics = createP2pMetrics(modules.registry)
  metrics.observe(events)
  logEvents(events, { logger })
  logRejections(events, { logger, clock })

  const expectedSigner = () => chain.signerAddress()
  const topics = createChainTopics(config, clock)
  const activeVersion = () => topics.active().version
  const appScores = createAppScores((peer, event, detail) => events.emit('response', peer, event, detail))
  const scoring = gossipScoring(options, {
    blockTimeS: config.blockTime,
    appScore: appScores.score,
    topics: topics.byVersion,
    version: activeVersion(),
  })
  const quotas = createPeerQuotas({
    clock,
    penalise: (peer, points, offence, detail) => events.emit('offence', peer, offence, points, detail),
  })
  const service = gossipService({ topics, scoring }, options.gossip)
  const { host, connections, peers } = await createGatedHost(
    { clock, logger, events, storage, quotas, service, metrics },
    staticPeers,
    options,
  )
  const protocolsOf = async (peer: PeerId): Promise<readonly string[]> => (await host.peerStore.get(peer)).protocols
  const knownProtocols = (peer: string) => protocolsOf(parsePeerId(peer)).catch(() => [])
  const servesBlocks = async (peer: string): Promise<boolean | null> => {
    const protocols = await knownProtocols(peer)
    return protocols.length === 0 ? null : blockProtocols(protocols).length > 0
  }
  const validation = createValidation(
    { config, clock, logger, signer: expectedSigner, signal: modules.signal },
    options.gossip,
  )
  const router = createGossipRouter(
    host.services.pubsub,
    {
      ...{ clock, logger, events, service, topics, scoring, quotas, ...validation },
      isAlwaysServed: peers.isStatic,
      connectionsOf: (peer) => host.getConnections(peer),
      protocolsOf,
      onSlowReader(peer) {
        quotas.report(peer, 'slow-reader')
        connections.abort(peer, 'reads too slowly')
      },
    },
    options.gossip,
  )
  const reputation = await openReputation(
    {
      clock,
      logger,
      events,
      storage,
      router,
      appScores,
      scoring,
      connections,
      peers,
      versionOf: topics.versionOf,
      servesBlocks,
    },
    options,
  )
  const health = createNodeHealth(
    {
      ...{ clock, logger, events, router, metrics },
      staticIds: peers.staticIds(),
      activeTopic: topics.active,
      connected: peers.connected,
      protocolsOf: knownProtocols,
      bans: () => access.lists.activeBans(clock.now()).map(([peerID, { reason }]) => ({ peerID, reason })),
    },
    { blockTimeS: config.blockTime, limits: options.health },
  )
  const reachability = await createReachability(
    { ...{ host, clock, logger, config, metrics, findNatRouter, privateKey: identity.privateKey.raw }, ...peers },
    options,
  )
  const connected = createConnectedPeers(
    {
      ...{ clock, logger, events, host, connections, peers },
      gossip: { score: router.score, streams: router.streams, mesh: () => router.meshPeers(activeVersion()) },
      isDiscovered: (peer) => reachability.discovery?.hasFound(peer) === true,
    },
    staticPeers,
    options,
  )
  const sync = createBlockSync(
    {
      ...{ host, chain, clock, logger, metrics, appScores, events, peers, inspector: validation.inspector },
      connection: connections.newest,
      onOversizedRequest: (peer) => quotas.report(peer, 'oversized-request'),
    },
    options.sync,
  )
  const publisher = createPublisher({ config, router, metrics, logger, signer, expectedSigner })
  const operator = createOperatorApi(
    { host, router, access, connections, clock, peers, events, logger, ...connected, ...reachability, ...reputation },
    options,
  )
  const upkeep = createUpkeep(
    { clock, access, appScores, router, metrics, events, activeVersion, ...peers, ...reputation },
    { slotMs: slotMilliseconds(config.blockTime) },
  )
  const meshSize = (): number => router.meshPeers(activeVersion()).length
  metrics.watchMesh(meshSize)
  const multiaddrs = (): string[] => host.getMultiaddrs().map((address) => withPeerId(address, host.peerId))
  const lifecycle = createLifecycle(
    [
      { stop: () => opened.disposeAsync().finally(() => logger.debug('Stopped p2p host')) },
      { stop: reputation.histories.flush },
      { stop: access.save },
      { stop: validation.close },
      { start: () => startHost(host, { clock, quotas }, options), stop: () => host.stop() },
      sync,
      { start: router.join, stop: router.leave },
      reachability,
      { stop: connections.stop },
      connected,
      reputation,
      health,
      upkeep,
    ],
    (err) => logger.error('Stopping a part of the p2p node failed', { err }),
  )
  return {
    ...operator,
    ...reputation.reasons,
    peerId,
    async start() {
      await lifecycle.start()
      logger.info('Started p2p host', { peerId, addrs: multiaddrs().join(','), staticPeers: peers.staticIds().length })
      if (reachability.discovery === undefined) logger.info('Peer discovery is disabled')
      if (signer !== undefined) logger.info('Signing published blocks', { signer: signer.address })
    },
    stop: lifecycle.stop,
    async publish(envelope) {
      if (!lifecycle.isRunning()) throw new P2pError('not-running', 'the p2p node is not running')
      try {
        await publisher.publish(envelope)
      } finally {
        // The node holds this block even if publishing failed, and peers may request it by number.
        sync.onTrustedBlock(envelope)
      }
    },
    onPayload: (listener) => events.on('block', listener),
    names: () => names,
    onNotification: (listener) => forwardNotifications(events, listener),
    requestRange: sync.requestRange,
    health: health.report,
    headMoved: health.headMoved,
    meshSize,
    connectedPeers: peers.connected,
    multiaddrs,
  }
}
