import type { P2pOptions } from './base/options.ts'
import type { HostDiscoveryModules } from './discovery/hostDiscovery.ts'
import type { Host } from './host/host.ts'
import type { P2pMetrics } from './metrics.ts'
import type { FindNatRouter } from './nat/natRouter.ts'

export interface ReachabilityModules extends Omit<HostDiscoveryModules, 'host' | 'metrics'> {
  host: Host
  metrics: Pick<P2pMetrics, 'discovery' | 'watchDiscovery'>
  findNatRouter: FindNatRouter | undefined
}

/** How this node finds other nodes, and how other nodes find it. */
export type Reachability = Awaited<ReturnType<typeof createReachability>>

/** Loads discv5 (about 300 ms) and the port mapper only if they are enabled. */
export async function createReachability(modules: ReachabilityModules, options: P2pOptions) {
  const { host, metrics, clock, logger, findNatRouter } = modules
  const discovery =
    options.discovery === undefined
      ? undefined
      : (await import('./discovery/hostDiscovery.ts')).createHostDiscovery(
          { ...modules, metrics: metrics.discovery },
          { ...options, discovery: options.discovery },
        )
  if (discovery !== undefined) {
    metrics.watchDiscovery({ tableSize: discovery.tableSize, sessions: discovery.sessions })
  }
  const mapper = options.nat
    ? (await import('./nat/hostPortMapper.ts')).createHostPortMapper(
        { findNatRouter, clock, logger, addresses: host.services.addresses, discovery },
        options,
      )
    : undefined
  return {
    /** Undefined: off. */
    discovery,
    /**
     * Starts discovery and port mapping in the background, if enabled. Throws UsageError when the UDP port is taken.
     */
    async start(): Promise<void> {
      await discovery?.start()
      mapper?.start()
    },
    async stop(): Promise<void> {
      await Promise.all([mapper?.stop(), discovery?.stop()])
    },
  }
}
