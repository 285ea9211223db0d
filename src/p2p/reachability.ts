import type { ConnectionGater } from '@libp2p/interface'
import type { HostDiscovery, HostDiscoveryModules } from './discovery/hostDiscovery.ts'
import type { Host } from './host/host.ts'
import type { P2pMetrics } from './metrics.ts'
import type { FindGateway } from './nat/gateway.ts'
import type { P2pOptions } from './options.ts'

/** How this node finds others, and is found by them. */
export interface Reachability {
  /** Undefined: off. */
  discovery: HostDiscovery | undefined
  /** Has ports mapped, in the background, and helps peers find out whether they can be reached, where that is wanted. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface ReachabilityModules extends Omit<HostDiscoveryModules, 'host' | 'metrics'> {
  host: Host
  gater: ConnectionGater
  metrics: Pick<P2pMetrics, 'discovery' | 'watchDiscovery'>
  findGateway: FindGateway | undefined
}

/** Loads discv5 (some 300 ms) and the port mapper only where they are wanted. */
export async function createReachability(modules: ReachabilityModules, options: P2pOptions): Promise<Reachability> {
  const { host, metrics, clock, logger, findGateway } = modules
  const discovery = await discoveryOf({ ...modules, metrics: metrics.discovery }, options)
  if (discovery !== undefined) {
    metrics.watchDiscovery({ tableSize: discovery.tableSize, sessions: discovery.sessions })
  }
  const mapper = options.nat
    ? (await import('./nat/hostPortMapper.ts')).createHostPortMapper(
        { findGateway, clock, logger, addresses: host.services.addresses, discovery },
        options,
      )
    : undefined
  // As op-node since 2026; before, it did so in any case.
  const help = options.nat
    ? (await import('./nat/reachabilityHelp.ts')).createReachabilityHelp(modules, options)
    : undefined
  return {
    discovery,
    async start() {
      mapper?.start()
      await help?.start()
    },
    async stop() {
      await Promise.all([mapper?.stop(), help?.stop(), discovery?.stop()])
    },
  }
}

async function discoveryOf(modules: HostDiscoveryModules, options: P2pOptions): Promise<HostDiscovery | undefined> {
  const { discovery } = options
  if (discovery === undefined) return undefined
  const { createHostDiscovery } = await import('./discovery/hostDiscovery.ts')
  return createHostDiscovery(modules, { ...options, discovery })
}
