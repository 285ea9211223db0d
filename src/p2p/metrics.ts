import type { Registry } from 'prom-client'
import { createMetricMakers } from '../lib/metricMakers.ts'
import type { PeerScores } from './base/api.ts'
import type { GossipEvent, P2pEvents } from './base/events.ts'
import type { GaterMetrics } from './peers/gater.ts'

/** op-node's namespace for a process called "default", so that op-node's dashboards work. */
const PREFIX = 'op_node_default_'

/** Buckets of op-node's `peer_scores`: fine around 0 where honest peers are, and down to the default ban threshold. */
const SCORE_BUCKETS = [-100, -40, -20, -10, -5, -2, -1, -0.5, -0.05, 0, 0.05, 0.5, 1, 2, 5, 10, 20, 40]

/** op-node's p2p metrics under op-node's names. */
export type P2pMetrics = ReturnType<typeof createP2pMetrics>

export function createP2pMetrics(registry: Registry) {
  const { gauge, counter, event, histogram, watched, watchedByLabel } = createMetricMakers(registry, PREFIX)

  /**
   * Plain counters: several are counted per message and peer. They are copied into the registry only when metrics are
   * read.
   */
  const gossipEvents: { [event in GossipEvent]?: number } = {}
  watchedByLabel('counter', 'p2p_gossip_events_total', 'Gossip events by type', 'type', () => gossipEvents)
  const peerUnbans = counter('p2p_peer_unbans', 'Bans of peers lifted')
  // op-node's. This node bans peers only.
  counter('p2p_ip_unbans', 'Bans of IPs lifted')
  const dials = counter('p2p_dials', 'Dials by the gater’s decision', ['allow'])
  const accepts = counter('p2p_accepts', 'Incoming connections by the gater’s decision', ['allow'])
  const requestLabels = ['p2p_role', 'p2p_method', 'result_code'] as const
  const requestDuration = histogram('p2p_req_duration_seconds', 'Duration of requests for blocks', {
    labelNames: requestLabels,
  })
  const requests = counter('p2p_req_total', 'Requests for blocks', requestLabels)
  const payloadByNumber = gauge('p2p_payload_by_number', 'Block number last requested', ['p2p_role'])
  const quarantine = gauge('p2p_payloads_quarantine_total', 'Blocks received on request whose hash is not yet trusted')
  const peerScores = histogram('peer_scores', 'Scores of connected peers by part', {
    labelNames: ['type'],
    buckets: SCORE_BUCKETS,
  })
  const onUnsafePayload = event('unsafe_payloads', 'Unsafe payloads received, by gossip and on request')
  const onPublishingError = event('publishing_errors', 'Blocks that could not be published')

  const discoveryLookups = counter('p2p_discovery_lookups_total', 'Lookups of random nodes')
  const discoveryRecords = counter(
    'p2p_discovery_records_total',
    'Node records that were new or had changed: found, or why they were left alone',
    ['outcome'],
  )
  const discoveryDials = counter('p2p_discovery_dials_total', 'Dials of discovered peers by how they ended', ['result'])

  const gater: GaterMetrics = {
    onDial: (allowed) => dials.inc({ allow: String(allowed) }),
    onAccept: (allowed) => accepts.inc({ allow: String(allowed) }),
  }
  return {
    gater,
    observe(events: Pick<P2pEvents, 'on'>) {
      const onGossipEvent = (event: GossipEvent, count: number): void => {
        gossipEvents[event] = (gossipEvents[event] ?? 0) + count
      }
      events.on('traced', onGossipEvent)
      events.on('connected', () => onGossipEvent('ADD_PEER', 1))
      events.on('disconnected', () => onGossipEvent('REMOVE_PEER', 1))
      events.on('unbanned', () => peerUnbans.inc())
      events.on('block', onUnsafePayload)
    },
    /** Gauges that are computed when metrics are read. */
    watch(read: { connections(): number; streams(): number; bandwidth(): { in: number; out: number } }) {
      watched('p2p_peer_count', 'Connected peers, one for each connection', read.connections)
      watched('p2p_stream_count', 'Open streams', read.streams)
      // op-node uses a gauge here too. op-node counts bytes of streams; this node counts bytes of sockets.
      watchedByLabel('gauge', 'p2p_bandwidth_bytes_total', 'Bytes over TCP by direction', 'direction', () => ({
        ...read.bandwidth(),
      }))
    },
    watchMesh: (peers: () => number) =>
      watched('p2p_mesh_peers', 'Peers in the gossip mesh of the topic that carries blocks now', peers),
    /** Metrics that op-node does not have. */
    watchHealth(read: { states(): Record<string, number>; lastBlockS(): number }) {
      watchedByLabel('gauge', 'p2p_health', '1 at the state that gossip is in', 'state', read.states)
      watched('p2p_last_gossip_block_unix', 'Time of the last block by gossip, Unix seconds; 0: none', read.lastBlockS)
    },
    discovery: {
      onLookup: () => discoveryLookups.inc(),
      onRecord: (outcome: string) => discoveryRecords.inc({ outcome }),
      onDial: (result: string) => discoveryDials.inc({ result }),
    },
    watchDiscovery(read: { tableSize(): number; sessions(): number }) {
      watched('p2p_discovery_table_nodes', 'Nodes in the discovery table', read.tableSize)
      watched('p2p_discovery_sessions', 'Nodes that discovery has a session with', read.sessions)
    },
    onRequest(role: 'client' | 'server', number: number, resultCode: number, seconds: number) {
      const labels = { p2p_role: role, p2p_method: 'payload_by_number', result_code: String(resultCode) }
      requests.inc(labels)
      requestDuration.observe(labels, seconds)
      payloadByNumber.set({ p2p_role: role }, number)
    },
    setQuarantined: (count: number) => quarantine.set(count),
    observeScores(all: readonly PeerScores[]) {
      for (const { gossip, reqResp } of all) {
        peerScores.observe({ type: 'total' }, gossip.total)
        peerScores.observe({ type: 'ipColocation' }, gossip.IPColocationFactor)
        peerScores.observe({ type: 'behavioralPenalty' }, gossip.behavioralPenalty)
        peerScores.observe({ type: 'blocksFirstMessage' }, gossip.blocks.firstMessageDeliveries)
        peerScores.observe({ type: 'blocksTimeInMesh' }, gossip.blocks.timeInMesh)
        peerScores.observe({ type: 'blocksMessageDeliveries' }, gossip.blocks.meshMessageDeliveries)
        peerScores.observe({ type: 'blocksInvalidMessageDeliveries' }, gossip.blocks.invalidMessageDeliveries)
        peerScores.observe({ type: 'reqRespValidResponses' }, reqResp.validResponses)
        peerScores.observe({ type: 'reqRespErrorResponses' }, reqResp.errorResponses)
        peerScores.observe({ type: 'reqRespRejectedPayloads' }, reqResp.rejectedPayloads)
      }
    },
    onPublishingError,
  }
}
