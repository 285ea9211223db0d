import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pOptions } from '../base/options.ts'
import type { HostDiscovery } from '../discovery/hostDiscovery.ts'
import type { AnnouncedAddresses } from '../host/announcedAddresses.ts'
import { createNatRouterSearch } from './findNatRouter.ts'
import type { FindNatRouter } from './natRouter.ts'
import { createPortMapper } from './portMapper.ts'

/**
 * Maps the host's ports, and announces the external address by identify and in the node record. An address that the
 * operator announces is not replaced, but the ports are mapped anyway.
 */
export function createHostPortMapper(
  modules: {
    /** Undefined: search on the networks of this machine. */
    findNatRouter: FindNatRouter | undefined
    clock: Clock
    logger: Logger
    addresses: AnnouncedAddresses
    discovery: HostDiscovery | undefined
  },
  options: Pick<P2pOptions, 'advertiseIp' | 'advertiseTcpPort'>,
): { start(): void; stop(): Promise<void> } {
  const { findNatRouter, clock, logger, addresses, discovery } = modules
  const mapper = createPortMapper({
    findNatRouter: findNatRouter ?? createNatRouterSearch(),
    clock,
    logger,
    onChange(external) {
      if (options.advertiseIp !== undefined && options.advertiseIp !== '') return
      const tcpPort = options.advertiseTcpPort === 0 ? external?.tcpPort : options.advertiseTcpPort
      addresses.setExternal(
        external === undefined || tcpPort === undefined ? undefined : { ip: external.ip, port: tcpPort },
      )
      discovery?.setExternal(external === undefined ? undefined : { ...external, tcpPort })
    },
  })
  return {
    start() {
      // IPv6 needs no mapping.
      const tcp = addresses.listeningPort('ip4')
      if (tcp !== undefined) mapper.start({ tcp, udp: discovery?.listeningPort() })
    },
    stop: mapper.stop,
  }
}
