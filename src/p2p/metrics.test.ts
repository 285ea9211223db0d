import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { silentLogger } from '../lib/logger.ts'
import { type PeerScores, ZERO_SCORES } from './base/api.ts'
import { createP2pEvents } from './base/events.ts'
import { createP2pMetrics } from './metrics.ts'

const SCORES: PeerScores = {
  gossip: {
    total: -3,
    blocks: { timeInMesh: 1, firstMessageDeliveries: 2, meshMessageDeliveries: 0, invalidMessageDeliveries: 0 },
    IPColocationFactor: 0,
    behavioralPenalty: 0,
  },
  reqResp: { ...ZERO_SCORES.reqResp, validResponses: 4 },
}

/** op-node's p2p metrics (op-node/metrics/metrics.go, op-node/p2p/gating): type and labels that its dashboards use. */
const OP_NODE: [name: string, type: string, labels: string[]][] = [
  ['p2p_peer_count', 'gauge', []],
  ['p2p_stream_count', 'gauge', []],
  ['p2p_gossip_events_total', 'counter', ['type']],
  ['p2p_bandwidth_bytes_total', 'gauge', ['direction']],
  ['p2p_peer_unbans', 'counter', []],
  ['p2p_ip_unbans', 'counter', []],
  ['p2p_dials', 'counter', ['allow']],
  ['p2p_accepts', 'counter', ['allow']],
  ['p2p_req_total', 'counter', ['p2p_role', 'p2p_method', 'result_code']],
  ['p2p_req_duration_seconds', 'histogram', ['p2p_role', 'p2p_method', 'result_code']],
  ['p2p_payload_by_number', 'gauge', ['p2p_role']],
  ['p2p_payloads_quarantine_total', 'gauge', []],
  ['peer_scores', 'histogram', ['type']],
  ['unsafe_payloads_total', 'counter', []],
  ['last_unsafe_payloads_unix', 'gauge', []],
  ['publishing_errors_total', 'counter', []],
  ['last_publishing_errors_unix', 'gauge', []],
]

it('the registry has every p2p metric of op-node, with the same name, type and labels', async () => {
  const registry = new Registry()
  const metrics = createP2pMetrics(registry)
  metrics.gater.onDial(true)
  metrics.gater.onAccept(false)
  const events = createP2pEvents({ logger: silentLogger })
  metrics.observe(events)
  events.emit('traced', 'RECV_RPC', 3)
  metrics.onRequest('client', 7, 0, 0.1)
  metrics.observeScores([SCORES])
  metrics.watch({ connections: () => 3, streams: () => 2, bandwidth: () => ({ in: 5, out: 6 }) })

  const found = new Map((await registry.getMetricsAsJSON()).map((metric) => [metric.name, metric]))
  for (const [name, type, labels] of OP_NODE) {
    const metric = found.get(`op_node_default_${name}`)
    expect(metric?.type, name).toBe(type)
    const given = Object.keys(metric?.values.at(-1)?.labels ?? {}).filter((label) => label !== 'le')
    expect(given, name).toEqual(labels)
  }
  const text = await registry.metrics()
  expect(text).toContain('op_node_default_p2p_gossip_events_total{type="RECV_RPC"} 3')
  expect(text).toContain('op_node_default_p2p_bandwidth_bytes_total{direction="out"} 6')
  const parts = [...text.matchAll(/peer_scores_count\{type="(\w+)"\} 1/g)].map((match) => match[1])
  expect(parts).toEqual([
    'total',
    'ipColocation',
    'behavioralPenalty',
    'blocksFirstMessage',
    'blocksTimeInMesh',
    'blocksMessageDeliveries',
    'blocksInvalidMessageDeliveries',
    'reqRespValidResponses',
    'reqRespErrorResponses',
    'reqRespRejectedPayloads',
  ])
  expect(text).toContain('peer_scores_bucket{le="-2",type="total"} 1')
})
