import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { PeerScores } from './api.ts'
import type { GossipEvent } from './gossip/router.ts'
import type { GaterMetrics } from './host/gater.ts'

/** op-node's namespace for a process called "default", so that its dashboards work. */
const PREFIX = 'op_node_default_'

/** Steps of op-node's `peer_scores`: fine around 0, where honest peers are, and down to the default ban threshold. */
const SCORE_BUCKETS = [-100, -40, -20, -10, -5, -2, -1, -0.5, -0.05, 0, 0.05, 0.5, 1, 2, 5, 10, 20, 40]

/** op-node's p2p metrics by its names. */
export type P2pMetrics = ReturnType<typeof createP2pMetrics>

export function createP2pMetrics(registry: Registry) {
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers })
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers })

  const peerCount = gauge('p2p_peer_count', 'Connected peers, one for each connection')
  const streamCount = gauge('p2p_stream_count', 'Open streams')
  const gossipEvents = counter('p2p_gossip_events_total', 'Gossip events by type', ['type'])
  const peerUnbans = counter('p2p_peer_unbans', 'Bans of peers lifted')
  const ipUnbans = counter('p2p_ip_unbans', 'Bans of IPs lifted')
  const dials = counter('p2p_dials', 'Dials by the gater’s decision', ['allow'])
  const accepts = counter('p2p_accepts', 'Incoming connections by the gater’s decision', ['allow'])
  const requestLabels = ['p2p_role', 'p2p_method', 'result_code']
  const requestDuration = new Histogram({
    name: `${PREFIX}p2p_req_duration_seconds`,
    help: 'Duration of requests for blocks',
    labelNames: requestLabels,
    registers,
  })
  const requests = counter('p2p_req_total', 'Requests for blocks', requestLabels)
  const payloadByNumber = gauge('p2p_payload_by_number', 'Block number last asked for', ['p2p_role'])
  const quarantine = gauge('p2p_payloads_quarantine_total', 'Blocks received on request whose hash is not yet trusted')
  const peerScores = new Histogram({
    name: `${PREFIX}peer_scores`,
    help: 'Scores of connected peers by part',
    labelNames: ['type'],
    buckets: SCORE_BUCKETS,
    registers,
  })
  const unsafePayloads = counter('unsafe_payloads_total', 'Unsafe payloads received by gossip')
  const lastUnsafePayload = gauge('last_unsafe_payloads_unix', 'Time of the last unsafe payload, Unix seconds')
  const publishingErrors = counter('publishing_errors_total', 'Blocks that could not be published')
  const lastPublishingError = gauge('last_publishing_errors_unix', 'Time of the last publishing error, Unix seconds')

  const gater: GaterMetrics = {
    onDial: (allowed) => dials.inc({ allow: String(allowed) }),
    onAccept: (allowed) => accepts.inc({ allow: String(allowed) }),
    onPeerUnban: () => peerUnbans.inc(),
    onIpUnban: () => ipUnbans.inc(),
  }
  return {
    gater,
    onConnectionOpen: () => peerCount.inc(),
    onConnectionClose: () => peerCount.dec(),
    setStreams: (count: number) => streamCount.set(count),
    /** A gauge that op-node does not have: asked for when metrics are read. */
    watchMesh(size: () => number) {
      new Gauge({
        name: `${PREFIX}p2p_mesh_peers`,
        help: 'Peers in the gossip mesh of the topic that carries blocks now',
        registers,
        collect() {
          this.set(size())
        },
      })
    },
    onGossipEvent: (event: GossipEvent) => gossipEvents.inc({ type: event }),
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
    onUnsafePayload(nowS: number) {
      unsafePayloads.inc()
      lastUnsafePayload.set(nowS)
    },
    onPublishingError(nowS: number) {
      publishingErrors.inc()
      lastPublishingError.set(nowS)
    },
  }
}
