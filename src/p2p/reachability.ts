import type { P2pOptions } from './base/options.ts'
import type { HostDiscoveryModules } from './discovery/hostDiscovery.ts'
import type { P2pMetrics } from './metrics.ts'
import type { FindNatRouter } from './nat/natRouter.ts'

export interface ReachabilityModules extends Omit<HostDiscoveryModules, 'metrics'> {
  metrics: Pick<P2pMetrics, 'discovery' | 'watchDiscovery'>
  /** Undefined: search on the networks of this machine. */
  findNatRouter: FindNatRouter | undefined
}

/** How this node finds other nodes, and how other nodes find it. */
export type Reachability = Awaited<ReturnType<typeof createReachability>>

/** Loads discv5 (about 300 ms) and the port mapper only if they are enabled. */
export async function createReachability(modules: ReachabilityModules, options: P2pOptions) {
  const { metrics } = modules
  const { addresses } = modules.host.services
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
  /** Announces the external address by identify and in the node record, but for one that the operator announces. */
  const openPortMapper = async () => {
    const { createPortMapper } = await import('./nat/portMapper.ts')
    const { createNatRouterSearch } = await import('./nat/findNatRouter.ts')
    return createPortMapper({
      ...modules,
      findNatRouter: modules.findNatRouter ?? createNatRouterSearch(),
      onChange(external) {
        if (options.advertiseIp !== undefined && options.advertiseIp !== '') return
        const tcpPort = options.advertiseTcpPort === 0 ? external?.tcpPort : options.advertiseTcpPort
        addresses.setExternal(
          external === undefined || tcpPort === undefined ? undefined : { ip: external.ip, port: tcpPort },
        )
        discovery?.setExternal(external === undefined ? undefined : { ...external, tcpPort })
      },
    })
  }
  const mapper = options.nat ? await openPortMapper() : undefined
  return {
    /** Undefined: off. */
    discovery,
    /**
     * Starts discovery and port mapping in the background, if enabled. Throws UsageError when the UDP port is taken.
     */
    async start(): Promise<void> {
      await discovery?.start()
      // IPv6 needs no mapping.
      const tcp = addresses.listeningPort('ip4')
      if (tcp !== undefined) mapper?.start({ tcp, udp: discovery?.listeningPort() })
    },
    async stop(): Promise<void> {
      await Promise.all([mapper?.stop(), discovery?.stop()])
    },
  }
}
