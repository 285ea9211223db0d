import type { Clock } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import type { Logger } from '../lib/logger.ts'
import type { P2pEvents } from './base/events.ts'
import type { P2pOptions } from './base/options.ts'
import type { GossipService } from './gossip/router.ts'
import { createBandwidth } from './host/bandwidth.ts'
import { createHost, maxPeers } from './host/host.ts'
import { createInboundLimits, INBOUND_LIMITS } from './host/inboundLimits.ts'
import type { PeerAddress } from './host/multiaddrs.ts'
import { dropUnreadablePeers } from './host/peerStore.ts'
import type { P2pMetrics } from './metrics.ts'
import type { NodeStorage } from './nodeStorage.ts'
import { createAllowList } from './peers/allowList.ts'
import { createConnections } from './peers/connections.ts'
import { createGater } from './peers/gater.ts'
import { createPeerRegistry } from './peers/registry.ts'
import type { PeerQuotas } from './quotas/quotas.ts'

export interface GatedHostModules {
  clock: Clock
  logger: Logger
  events: P2pEvents
  storage: Pick<NodeStorage, 'identity' | 'access' | 'datastore'>
  quotas: Pick<PeerQuotas, 'report'>
  service: Pick<GossipService, 'create'>
  metrics: Pick<P2pMetrics, 'gater' | 'watch'>
}

/**
 * The libp2p host (not started) with its connections, its gater and its peer registry. Throws UsageError on options
 * that contradict each other.
 */
export async function createGatedHost(
  modules: GatedHostModules,
  staticPeers: readonly PeerAddress[],
  options: P2pOptions,
) {
  const { clock, logger, events, quotas, service, metrics } = modules
  const { identity, access, datastore } = modules.storage
  const { lists } = access
  const connections = createConnections(events)
  const peers = createPeerRegistry({ clock, lists, connections }, staticPeers)
  const bandwidth = createBandwidth()
  const gater = createGater({
    ...{ lists, clock, events, peers },
    allowed: createAllowList(options.allow, peers.staticIds()),
    metrics: metrics.gater,
    onConnection: bandwidth.add,
    maxPeers: maxPeers(options.peersHigh),
    limits: createInboundLimits({ clock }, { ...INBOUND_LIMITS, exempt: options.ipColocationExempt }),
  })
  const host = await createHost(
    {
      ...{ identity, gater, datastore },
      pubsub: service.create,
      muxerGuard: {
        clock,
        onAbuse(muxer, error) {
          const peer = connections.peerOf(muxer)
          if (peer !== undefined) quotas.report(peer, 'muxer-abuse', describeError(error))
        },
      },
    },
    options,
  )
  connections.watch(host)
  metrics.watch({
    connections: () => connections.open().length,
    streams: () => host.getConnections().reduce((sum, connection) => sum + connection.streams.length, 0),
    bandwidth: bandwidth.total,
  })
  if (datastore !== undefined) {
    await dropUnreadablePeers({ logger, listPeers: () => host.peerStore.all() }, datastore)
  }
  return { host, connections, peers }
}
