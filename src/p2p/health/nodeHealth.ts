import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pEvents } from '../base/events.ts'
import { HEALTH_STATES } from '../base/healthReport.ts'
import type { MonitorLimits } from '../base/options.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { GossipRouter } from '../gossip/router.ts'
import { blockProtocols } from '../sync/payloadByNumber.ts'
import { createHealthMonitor, type HealthMonitor, healthLimits } from './healthMonitor.ts'
import { createHealthRecord, type HealthRecord } from './healthRecord.ts'

export interface NodeHealthModules {
  clock: Clock
  logger: Logger
  events: Pick<P2pEvents, 'on'>
  staticIds: readonly string[]
  router: Pick<GossipRouter, 'subscribers' | 'meshPeers'>
  activeTopic(): { version: PayloadVersion; topic: string }
  connected(): readonly string[]
  protocolsOf(peerId: string): Promise<readonly string[]>
  bans(): { peerID: string; reason: string }[]
  metrics: { watchHealth(read: { states(): Record<string, number>; lastBlockS(): number }): void }
}

/** The health monitor with its metrics and its subscriptions to events. */
export interface NodeHealth extends HealthMonitor {
  headMoved: HealthRecord['onHead']
}

export function createNodeHealth(
  modules: NodeHealthModules,
  options: { blockTimeS: number; limits: Partial<MonitorLimits> | undefined },
): NodeHealth {
  const { clock, logger, router, events } = modules
  const record = createHealthRecord(clock, modules.staticIds)
  events.on('verdict', (peer, _, verdict) => record.onVerdict(peer, verdict))
  events.on('block', (envelope, _, way) => {
    if (way === 'request') record.onRequested(envelope)
  })
  events.on('connected', (peer) => record.onConnected(peer))
  events.on('disconnected', record.onDisconnected)
  events.on('dialFailed', record.onDialFailed)
  const monitor = createHealthMonitor(
    {
      clock,
      logger,
      record,
      connected: modules.connected,
      bans: modules.bans,
      gossip() {
        const { version, topic } = modules.activeTopic()
        return { topic, subscribers: router.subscribers(version).length, mesh: router.meshPeers(version).length }
      },
      async chainsOf(peerId) {
        const protocols = blockProtocols(await modules.protocolsOf(peerId))
        return [...new Set(protocols.map(({ chainId }) => chainId.toString()))]
      },
    },
    healthLimits(options.blockTimeS * 1000, options.limits),
  )
  modules.metrics.watchHealth({
    states: () => Object.fromEntries(HEALTH_STATES.map((state) => [state, state === monitor.state() ? 1 : 0])),
    lastBlockS: () => Math.floor((record.lastBlock()?.atMs ?? 0) / 1000),
  })
  return { ...monitor, headMoved: record.onHead }
}
