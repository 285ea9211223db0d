import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { blockProtocols } from '../check/chains.ts'
import type { GossipRouter } from '../gossip/router.ts'
import type { PayloadVersion } from '../gossip/topics.ts'
import { createHealthMonitor, type HealthMonitor, healthLimits, type MonitorLimits } from './healthMonitor.ts'
import type { HealthRecord } from './healthRecord.ts'
import { HEALTH_STATES } from './types.ts'

export interface NodeHealthModules {
  clock: Clock
  logger: Logger
  record: HealthRecord
  router: Pick<GossipRouter, 'subscribers' | 'meshPeers'>
  /** The topic that carries the chain's blocks now. */
  carrier(): { version: PayloadVersion; topic: string }
  connected(): readonly string[]
  protocolsOf(peerId: string): Promise<readonly string[]>
  metrics: { watchHealth(read: { states(): Record<string, number>; lastBlockS(): number }): void }
}

/** The health monitor of a whole node, with its metrics. */
export function createNodeHealth(
  modules: NodeHealthModules,
  options: { blockTimeS: number; limits: Partial<MonitorLimits> | undefined },
): HealthMonitor {
  const { clock, logger, record, router } = modules
  const monitor = createHealthMonitor(
    {
      clock,
      logger,
      record,
      connected: modules.connected,
      gossip() {
        const { version, topic } = modules.carrier()
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
  return monitor
}
