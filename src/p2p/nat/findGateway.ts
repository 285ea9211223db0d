import { describeError } from '../../lib/errors.ts'
import { routerCandidates } from './defaultRoute.ts'
import { type FindGateway, type Gateway, GatewayError } from './gateway.ts'
import { createNatPmpGateway, NAT_PMP_PORT } from './natPmp.ts'
import { searchRouters } from './ssdp.ts'
import { openUpnpGateway } from './upnp.ts'

/** Routers answer a search within MX (1 s). The rest is for slow routers and lost packets. */
const SEARCH_MS = 5_000

/** Addresses to search for routers. Default: the networks of this machine. */
export interface SearchPlaces {
  natPmp?: { ips: readonly string[]; port: number }
  ssdp?: { to: { ip: string; port: number }; from: readonly string[] }
}

/** Tries NAT-PMP and UPnP at the same time. The first router that returns its external address is used. */
export function createGatewaySearch(places: SearchPlaces = {}): FindGateway {
  const byNatPmp = async (signal: AbortSignal): Promise<Gateway> => {
    const { ips, port } = places.natPmp ?? { ips: await routerCandidates(), port: NAT_PMP_PORT }
    try {
      return await Promise.any(ips.map((ip) => answering(createNatPmpGateway({ ip, port }), signal)))
    } catch (error) {
      throw error instanceof AggregateError && error.errors.length > 0
        ? error.errors[0]
        : new GatewayError('no-answer', 'no router address to try by NAT-PMP')
    }
  }
  const byUpnp = async (signal: AbortSignal): Promise<Gateway> => {
    const failures: unknown[] = []
    for await (const description of searchRouters(signal, places.ssdp)) {
      try {
        return await answering(await openUpnpGateway(description, signal), signal)
      } catch (error) {
        failures.push(error)
      }
    }
    throw failures[0] ?? new GatewayError('no-answer', 'no UPnP router answers')
  }
  return async (signal) => {
    const enough = new AbortController()
    const until = AbortSignal.any([signal, enough.signal, AbortSignal.timeout(SEARCH_MS)])
    try {
      return await Promise.any([byNatPmp(until), byUpnp(until)])
    } catch (error) {
      const reasons = error instanceof AggregateError ? error.errors.map(describeError) : [describeError(error)]
      throw new GatewayError('no-answer', `no router maps ports: ${reasons.filter((text) => text !== '').join('; ')}`)
    } finally {
      enough.abort()
    }
  }
}

async function answering(gateway: Gateway, signal: AbortSignal): Promise<Gateway> {
  await gateway.externalIp(signal)
  return gateway
}
